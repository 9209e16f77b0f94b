import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, watch } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runConfined } from './confined.ts'

describe.skipIf(process.getuid?.() !== 0)('runConfined', () => {
  let work: string
  beforeEach(async () => {
    work = await mkdtemp(join(tmpdir(), 'confined-'))
  })
  afterEach(() => rm(work, { recursive: true, force: true }))

  it('keeps mounts off the machine', async () => {
    const script = `mount -t tmpfs none ${work} && touch ${work}/inside && cat /proc/self/mountinfo > /dev/null`
    await runConfined('sh', ['-c', script], {})
    expect(existsSync(join(work, 'inside'))).toBe(false)
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(work)
  })

  it('fails with stderr of the command', async () => {
    await expect(runConfined('sh', ['-c', 'echo out of paper >&2; exit 3'], {})).rejects.toThrow(/\(3\): out of paper/)
  })

  it('ends all processes when aborted, and settles after that', async () => {
    const controller = new AbortController()
    const changes = watch(work)
    // The child ignores signals to end, as a shell does that waits for a program.
    const script = `trap '' TERM INT; sh -c 'exec 3>${work}/lock; flock 3; touch ${work}/begun; sleep 600'; true`
    const running = runConfined('sh', ['-c', script], { signal: controller.signal })
    const ended = expect(running).rejects.toThrow(/abort/i)
    for await (const { filename } of changes) if (filename === 'begun') break
    controller.abort()
    await ended
    await runConfined('flock', ['--nonblock', join(work, 'lock'), 'true'], {})
  })
})
