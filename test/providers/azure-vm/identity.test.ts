import { expect, it } from 'vitest'
import { theMachine } from '../machines-contract.js'
import { addVm, machinesOn, startArm } from './stand-in.js'

// Alone in its process: the SDK remembers the first endpoint of its tokens for as long as that lives.
it('CKS-00 asks for its tokens, too, where only the CA it was told of vouches for the server', async () => {
  const arm = await startArm()
  addVm(arm, 'w-1')
  // The whole chain: a managed identity that is named alone is given no settings by the SDK, as it has no TLS at Azure.
  Object.assign(process.env, arm.secureIdentityEnvironment, { AZURE_TOKEN_CREDENTIALS: 'prod' })

  expect(await theMachine(machinesOn(arm), 'w-1')).toMatchObject({ power: 'running' })
  await arm.close()
})
