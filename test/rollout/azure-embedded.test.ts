// What is special to Azure, once more on the embedded Kubernetes: its stories are the same, whoever serves the API.
process.env.NODEROLL_KUBERNETES = 'embedded'
// Under a name of their own: a module that this process has loaded already would tell no tests.
for (const story of ['azure-vm', 'azure-control', 'azure-way-back']) {
  await import(`./${story}.test.ts?embedded`)
}

export {}
