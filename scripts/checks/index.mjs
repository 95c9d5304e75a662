// The project's own rules, each of which answers a list of files with a list of problems.
import * as coreImports from './core-imports.mjs'
import * as fileSizes from './file-sizes.mjs'
import * as forbidden from './forbidden.mjs'
import * as links from './links.mjs'
import * as requirementIds from './requirement-ids.mjs'
import * as specPage from './spec-page.mjs'

export const ownChecks = [fileSizes, coreImports, requirementIds, forbidden, links, specPage]
