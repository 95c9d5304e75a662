import { existsSync } from 'node:fs'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { fillOnce } from '../../scripts/cache.mjs'

describe('the cache', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'noderoll-cache-'))
  })

  it('is filled once, however many ask', async () => {
    let fillings = 0
    const fill = async (unfinished: string) => {
      fillings++
      await writeFile(join(unfinished, 'program'), '')
    }
    const target = join(folder, 'tool')
    await Promise.all([1, 2, 3].map(() => fillOnce(target, fill, () => undefined)))

    expect(fillings).toBe(1)
    expect(existsSync(join(target, 'program'))).toBe(true)
    await rm(folder, { recursive: true })
  })

  it('does not wait for who was killed, and keeps nothing half-filled', async () => {
    const target = join(folder, 'tool')
    await writeFile(`${target}.lock`, 'somebody')
    await utimes(`${target}.lock`, 0, 0)
    const fails = fillOnce(
      target,
      () => Promise.reject(new Error('no disk')),
      () => undefined,
    )
    await expect(fails).rejects.toThrow('no disk')
    expect(existsSync(target)).toBe(false)
    await fillOnce(
      target,
      () => Promise.resolve(),
      () => undefined,
    )

    expect(existsSync(target)).toBe(true)
    expect(existsSync(`${target}.lock`)).toBe(false)
    await rm(folder, { recursive: true })
  })
})
