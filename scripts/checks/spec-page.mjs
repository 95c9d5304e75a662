import { tsImport } from 'tsx/esm/api'

const PAGE = 'docs/spec.md'

export const name = `${PAGE} is what the schemas give`

/** @returns {Promise<string>} what the page is to say */
export async function wantedPage() {
  /** @type {typeof import('../reference/spec-page.ts')} */
  const { specPage } = await tsImport('../reference/spec-page.ts', import.meta.url)
  return await specPage()
}

/** @param {import('./files.mjs').ProjectFile[]} files */
export async function problems(files) {
  if (files.find(({ path }) => path === PAGE)?.text === (await wantedPage())) return []
  return [`${PAGE}: is not what the schemas in src give; run npm run docs and commit the page`]
}
