import { describe, expect, it } from 'vitest'
import { workflowBundle } from '../support/bundle.js'

/** Folders of ours and packages that workflow code may pull in. Anything more runs in the sandbox, or breaks it. */
const FOLDERS = ['src/api', 'src/core', 'src/workflows']
const PACKAGES = [
  '@temporalio/common',
  '@temporalio/workflow',
  '@temporalio/worker',
  'long',
  'ms',
  'nexus-rpc',
]

describe('the workflow bundle', () => {
  it('holds exactly the allowed folders and packages', async () => {
    const { code } = await workflowBundle()
    const modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)":?/gm)].map((match) => match[1] ?? '')
    const folders = new Set<string>()
    const packages = new Set<string>()
    for (const path of modules) {
      const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
      const inSource = /^\.?\/?(src\/[^/]+)\//.exec(path)?.[1]
      if (inPackage !== undefined) packages.add(inPackage)
      else if (inSource !== undefined) folders.add(inSource)
    }

    expect([...folders].sort()).toEqual(FOLDERS)
    expect([...packages].filter((name) => !PACKAGES.includes(name))).toEqual([])
    expect(packages).toContain('@temporalio/workflow')
  })

  it('stays below 2 MB', async () => {
    expect((await workflowBundle()).code.length).toBeLessThan(2_000_000)
  })
})
