import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Waits for the end of something while all garbage is collected again and again: what nobody holds is gone before it can act. */
export async function whileCollecting<T>(act: Promise<T>): Promise<T> {
  const collecting = setInterval(collect, 200)
  try {
    return await act
  } finally {
    clearInterval(collecting)
  }
}
