// `npm run docs`: writes docs/spec.md anew from the schemas in src. `npm run check` says when that is due.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureInstalled, ROOT } from './install.mjs'

ensureInstalled()
const { wantedPage } = await import('./checks/spec-page.mjs')
await writeFile(join(ROOT, 'docs/spec.md'), await wantedPage())
