// What is special to Azure, once more on the embedded Kubernetes: its stories are the same, whoever serves the API.
process.env.NODEROLL_KUBERNETES = 'embedded'
await import('./azure-vm.test.js')
await import('./azure-control.test.js')
await import('./azure-way-back.test.js')

export {}
