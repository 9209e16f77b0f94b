import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { appears, specOf, TestMachine, uuidOf, warrantOf } from '../../test/kit/runner/machine.ts'
import { longestLineBytes } from '../dispatch/protocol.ts'

const uuid = uuidOf(1)

/** Says lines as they are, and returns as many answers; beats come beside them. */
async function say(machine: TestMachine, lines: readonly string[]): Promise<Record<string, unknown>[]> {
  const child = machine.spawn()
  const answers: Record<string, unknown>[] = []
  child.stdin!.write(lines.map(line => `${line}\n`).join(''))
  for await (const line of createInterface({ input: child.stdout! })) {
    const said = JSON.parse(line)
    if (said.type !== 'beat') answers.push(said)
    if (answers.length === lines.length) break
  }
  child.kill('SIGKILL')
  return answers
}

describe.concurrent('attach', () => {
  it('refuses bad lines with a reason, and goes on', async () => {
    await using machine = await TestMachine.make()
    const start = { type: 'start', id: 5, ...warrantOf(uuid, 1, specOf('true')) }
    const answers = await say(machine, [
      '{"type":"hello","epoch":7}',
      'garbage',
      '[]',
      'null',
      '{"type":"dance","id":1}',
      '{"type":"hello","epoch":1e400}',
      '{"type":"kill","id":2,"uuid":"../../etc","run":1}',
      JSON.stringify({ ...start, uuid: '../x' }),
      JSON.stringify({ ...start, spec: { ...start.spec, environment: { 'A=B': 'c' } } }),
      JSON.stringify({ ...start, spec: { ...start.spec, command: ['a\0b'] } }),
      JSON.stringify({ ...start, spec: { ...start.spec, image: '--privileged' } }),
      'x'.repeat(longestLineBytes + 1),
      '{"type":"list","id":9}',
    ])
    expect(answers.map(({ type, why }) => why ?? type)).toEqual(['welcome', ...Array(11).fill('bad'), 'listed'])
    expect(answers[4]).toMatchObject({ id: 1, message: 'unknown type' })
  })

  it('drops nothing that it did not tell yet, however much a keeper acknowledges', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    const wait = join(machine.folder, 'wait')
    writeFileSync(wait, '')
    const script = `echo before; while [ -e ${wait} ]; do sleep 0.01; done; echo after`
    await connected.keeper.start(warrantOf(uuid, 1, specOf(script)))
    await connected.until(() => connected.output(uuid, 1) === 'before\n')
    connected.keeper.ack(uuid, 1, Number.MAX_SAFE_INTEGER)
    await connected.keeper.list()
    rmSync(wait)
    const next = await machine.attach(8)
    await next.end(uuid, 1)
    expect(next.output(uuid, 1)).toBe('after\n')
  })

  it('does nothing for half a line', async () => {
    await using machine = await TestMachine.make()
    const { child, exited } = await machine.attach(7)
    child.stdin!.end(JSON.stringify({ type: 'start', id: 1, ...warrantOf(uuid, 1, specOf('true')) }))
    await exited
    expect((await (await machine.attach(8)).keeper.list()).runs).toEqual([])
  })

  it('keeps the gate open while a keeper does not read', async () => {
    await using machine = await TestMachine.make()
    const child = machine.spawn()
    const exited = once(child, 'exit')
    child.stdin!.write('{"type":"hello","epoch":7}\n')
    child.stdin!.write(
      `${JSON.stringify({ type: 'start', id: 1, ...warrantOf(uuid, 1, specOf('seq 1 1000000; sleep 60')) })}\n`,
    )
    await appears(join(machine.dir, 'runs', `${uuid}.1`, 'out.2'))
    // Nothing was read of it, and its pipe is full.
    const next = await machine.attach(8)
    expect((await next.keeper.list()).runs).toMatchObject([{ uuid }])
    await exited
  })

  it('ends when its state folder cannot be made', async () => {
    await using machine = await TestMachine.make({ env: { SKYLAB_RUNNER_DIR: '/dev/null/none' } })
    const { exited, stderr, child } = machine.connect()
    await exited
    expect([child.exitCode, await stderr]).toEqual([1, expect.stringContaining('/dev/null/none')])
  })

  it('tells every beat whether the machine is broken', async () => {
    await using machine = await TestMachine.make({ env: { SKYLAB_RUNNER_BEAT_MS: '20' } })
    const connected = await machine.attach(7)
    await connected.until(() => connected.beats.length > 0)
    writeFileSync(join(machine.dir, 'broken'), 'smells of smoke\n')
    await connected.until(() => connected.beats.some(beat => 'broken' in beat && beat.broken === 'smells of smoke'))
    const refused = connected.keeper.start(warrantOf(uuid, 1, specOf('true')))
    await expect(refused).rejects.toMatchObject({ why: 'broken', message: expect.stringContaining('smoke') })
  })

  it('needs less than 90 MB on each of 20 machines', async () => {
    const machines = await Promise.all(Array.from({ length: 20 }, () => TestMachine.make()))
    try {
      const all = await Promise.all(machines.map(machine => machine.attach(7)))
      const kib = all.map(({ child }) =>
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]),
      )
      expect(Math.max(...kib)).toBeLessThan(90_000)
    } finally {
      await Promise.all(machines.map(machine => machine[Symbol.asyncDispose]()))
    }
  })
})

/** A disk of its own, which is root's to make. */
function smallDisk(bytes: number): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'skylab-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'none', path])
  return {
    path,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['--lazy', path])
      rmSync(path, { recursive: true })
    },
  }
}

const fill = (path: string) => spawnSync('sh', ['-c', `cat /dev/zero > ${path}/filler`])
const canMount = process.getuid?.() === 0

describe.runIf(canMount)('a full disk', () => {
  it('refuses a start, and still lets a newer keeper in', async () => {
    using disk = smallDisk(4_000_000)
    await using machine = await TestMachine.make({ parent: disk.path })
    const old = await machine.attach(7)
    fill(disk.path)
    const refused = old.keeper.start(warrantOf(uuid, 1, specOf('true')))
    await expect(refused).rejects.toMatchObject({ why: 'broken', message: expect.stringContaining('the disk is full') })
    const next = await machine.attach(8)
    expect((await next.keeper.list()).runs).toEqual([])
    rmSync(join(disk.path, 'filler'))
    await next.keeper.start(warrantOf(uuid, 1, specOf('true')))
  })

  it('costs a run its output, and not its end', async () => {
    using disk = smallDisk(8_000_000)
    await using machine = await TestMachine.make({ parent: disk.path })
    const connected = await machine.attach(7)
    const wait = join(machine.folder, 'wait')
    writeFileSync(wait, '')
    const script = `echo before; while [ -e ${wait} ]; do sleep 0.01; done; head -c 500000 /dev/zero; exit 3`
    await connected.keeper.start(warrantOf(uuid, 1, specOf(script)))
    await connected.until(() => connected.output(uuid, 1) === 'before\n')
    fill(disk.path)
    rmSync(wait)
    const end = await connected.end(uuid, 1)
    expect(end.entry).toMatchObject({ end: { exitCode: 3 } })
    const lost = connected.told.reduce((sum, { entry }) => sum + (entry.kind === 'lost' ? entry.bytes : 0), 0)
    expect(lost).toBeGreaterThan(400_000)
    expect(lost + connected.output(uuid, 1).length).toBe('before\n'.length + 500_000)
    connected.ack(end)
    expect((await connected.keeper.list()).runs).toEqual([])
    const again = connected.keeper.start(warrantOf(uuid, 1, specOf('true')))
    await expect(again).rejects.toMatchObject({ why: 'run' })
    rmSync(join(disk.path, 'filler'))
  })
})
