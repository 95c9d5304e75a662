/** The complete lines of a stream, as many at a time as arrive together. A last line without an end is dropped. */
export async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield parts.filter((line) => line !== '')
  }
}
