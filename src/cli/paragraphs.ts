/** Blocks of lines with a blank line between them; an empty block leaves none. */
export function paragraphs(...blocks: readonly (readonly string[])[]): string[] {
  return blocks
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 ? block : ['', ...block]))
}
