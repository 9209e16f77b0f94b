import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { appears, outputOf, specOf, TestMachine, type Told, uuidOf, warrantOf } from '../../test/kit/runner/machine.ts'
import { Machine } from './state/machine.ts'

const uuid = uuidOf(1)
const named = (machine: TestMachine, word: string) => machine.processes().filter(({ line }) => line.includes(word))

describe.concurrent('a supervisor', () => {
  it('tells output, exit code and times, and needs no keeper meanwhile', async () => {
    await using machine = await TestMachine.make()
    const first = await machine.attach(7)
    await first.keeper.start(
      warrantOf(uuid, 1, specOf('echo out; echo err >&2; pwd; exit 3', { environment: { A: 'b' } })),
    )
    first.child.kill('SIGKILL')
    const next = await machine.attach(8)
    expect((await next.end(uuid, 1)).entry).toMatchObject({ kind: 'ended', end: { exitCode: 3 } })
    const streams = next.told.flatMap(({ entry }) => (entry.kind === 'output' ? [entry.stream] : []))
    expect([next.output(uuid, 1).split('\n').length, streams.includes('stderr')]).toEqual([4, true])
    const [listed] = (await next.keeper.list()).runs
    expect(listed).toMatchObject({ state: 'ended', end: { exitCode: 3 }, owner: 'ada', seal: 'seal' })
    expect(listed!.finishedMs).toBeGreaterThanOrEqual(listed!.startedMs!)
  })

  it('ends a command that is not there with a reason, and no exit code', async () => {
    await using machine = await TestMachine.make()
    const first = await machine.attach(7)
    await first.keeper.start(warrantOf(uuid, 1, specOf('', { command: ['/no/such/command'] })))
    const { entry, seq } = await first.end(uuid, 1)
    expect([seq, entry]).toMatchObject([1, { end: { reason: 'spawn /no/such/command ENOENT' } }])
  })

  it('kills a command that runs longer than it may', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, specOf('trap "" TERM; sleep 60', { maxRunSeconds: 1 })))
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 137, timedOut: true } })
  })

  const stubborn =
    'trap "" TERM; setsid sh -c "trap \\"\\" TERM; sleep 987" & (trap "" TERM; sleep 987) & echo up; sleep 987'

  it.each(['with', 'without'])(
    'kills children that ignore SIGTERM, in sessions of their own too, %s control groups',
    async groups => {
      await using machine = await TestMachine.make({ env: groups === 'with' ? {} : { SKYLAB_RUNNER_CGROUPS: 'none' } })
      const connected = await machine.attach(7)
      await connected.keeper.start(warrantOf(uuid, 1, specOf(stubborn)))
      await connected.until(() => connected.output(uuid, 1) === 'up\n')
      await connected.keeper.kill(uuid, 1)
      expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 137, reason: 'killed' } })
      expect(named(machine, 'sleep 987')).toEqual([])
    },
  )

  it('lets no process outlive the end that it tells', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, specOf('sleep 987 & exit 0')))
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 0 } })
    expect(named(machine, 'sleep 987')).toEqual([])
  })

  it.each(['with', 'without'])(
    'is missed, and its container is killed, after a SIGKILL, %s control groups',
    async groups => {
      await using machine = await TestMachine.make({ env: groups === 'with' ? {} : { SKYLAB_RUNNER_CGROUPS: 'none' } })
      const connected = await machine.attach(7)
      await connected.keeper.start(warrantOf(uuid, 1, specOf(stubborn)))
      await connected.until(() => connected.output(uuid, 1) === 'up\n')
      process.kill(machine.supervisorOf(uuid), 'SIGKILL')
      expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { reason: 'the supervisor was lost' } })
      expect(named(machine, 'sleep 987')).toEqual([])
      expect(await machine.human('--list')).toEqual({ out: `${uuid} stale\nbroken\n`, code: 0 })
      const refused = connected.keeper.start(warrantOf(uuidOf(2), 2, specOf('true')))
      await expect(refused).rejects.toMatchObject({ why: 'broken' })
    },
  )

  it('is listed and killed by humans', async () => {
    await using machine = await TestMachine.make()
    expect(await machine.human('--list')).toEqual({ out: '', code: 0 })
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, specOf('sleep 60')))
    expect(await machine.human('--list')).toEqual({ out: `${uuid}\n`, code: 0 })
    expect(await machine.human('--kill', uuid)).toEqual({ out: `${uuid}: run 1 was sent SIGTERM\n`, code: 0 })
    expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 143 } })
    expect(await machine.human('--kill', uuidOf(2))).toEqual({ out: `${uuidOf(2)}: does not run here\n`, code: 1 })
    expect((await machine.human('--purge')).code).toBe(2)
  })

  it('obeys nobody without the key of the machine', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, specOf('sleep 60')))
    const stranger = createConnection(`\0${Machine.openMade(machine.dir).lockName(uuid, 1)}`)
    stranger.write('{"kill":true}\n')
    await once(stranger.resume(), 'close')
    expect((await connected.keeper.list()).runs).toMatchObject([{ state: 'running' }])
  })

  it('keeps values of the environment out of command lines, logs and names', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    const value = 'hunter2-hunter2'
    await connected.keeper.start(warrantOf(uuid, 1, specOf('echo up; sleep 60', { environment: { PASSWORD: value } })))
    await connected.until(() => connected.output(uuid, 1) === 'up\n')
    expect(machine.processes().length).toBeGreaterThanOrEqual(4)
    expect(named(machine, value)).toEqual([])
    const files = readdirSync(machine.dir, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
    const having = files.filter(file => readFileSync(join(file.parentPath, file.name), 'utf8').includes(value))
    expect(having.map(({ name }) => name)).toEqual(['warrant.json'])
    await connected.keeper.kill(uuid, 1)
    connected.ack(await connected.end(uuid, 1))
    await connected.keeper.list()
    expect(existsSync(join(machine.dir, 'runs', `${uuid}.1`))).toBe(false)
    connected.keeper.close()
    expect(await connected.stderr).toBe('')
  })
})

describe.concurrent('a spool', () => {
  it('is sent without gaps over connections that die, and from the last acknowledged entry on', async () => {
    await using machine = await TestMachine.make()
    const script = 'i=0; while [ $i -lt 300 ]; do echo "line $i"; i=$((i+1)); sleep 0.003; done'
    const bySeq = new Map<number, Told>()
    let acked = 0
    for (let epoch = 1; ; epoch++) {
      const connected = await machine.attach(epoch, {
        onEntry: told => {
          expect(told.seq).toBeGreaterThan(acked)
          const known = bySeq.get(told.seq)
          if (known) expect(told).toEqual(known)
          bySeq.set(told.seq, told)
        },
      })
      if (epoch === 1) await connected.keeper.start(warrantOf(uuid, 1, specOf(script)))
      const highest = Math.max(0, ...bySeq.keys())
      while (
        Math.max(0, ...bySeq.keys()) < highest + 3 &&
        ![...bySeq.values()].some(({ entry }) => entry.kind === 'ended')
      )
        await new Promise(resolve => setImmediate(resolve))
      acked = Math.max(...bySeq.keys()) - 1
      connected.keeper.ack(uuid, 1, acked)
      // It was heard once this is answered.
      await connected.keeper.list()
      connected.child.kill('SIGKILL')
      await connected.exited
      if ([...bySeq.values()].some(({ entry }) => entry.kind === 'ended')) break
    }
    const all = [...bySeq.values()].sort((a, b) => a.seq - b.seq)
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
    expect(outputOf(all)).toBe(Array.from({ length: 300 }, (_, i) => `line ${i}\n`).join(''))
  })

  it('counts output beyond its bound, and goes on once there is room', async () => {
    await using machine = await TestMachine.make({ env: { SKYLAB_RUNNER_SPOOL_BYTES: '3000000' } })
    const connected = await machine.attach(7)
    const [full, go] = [join(machine.folder, 'full'), join(machine.folder, 'go')]
    const script = `head -c 8000000 /dev/zero; touch ${full}; while [ ! -e ${go} ]; do sleep 0.01; done; echo after`
    await connected.keeper.start(warrantOf(uuid, 1, specOf(script)))
    await appears(full)
    connected.ack(await connected.until(told => (told.length > 60 ? told.at(-1) : undefined)))
    // It was heard once this is answered.
    await connected.keeper.list()
    writeFileSync(go, '')
    await connected.end(uuid, 1)
    const lost = connected.told.reduce((sum, { entry }) => sum + (entry.kind === 'lost' ? entry.bytes : 0), 0)
    const kept = connected.output(uuid, 1)
    expect(lost + Buffer.byteLength(kept)).toBe(8_000_000 + 'after\n'.length)
    expect(lost).toBeGreaterThan(4_000_000)
    expect(kept.endsWith('after\n')).toBe(true)
  })

  it('is the same bytes when much is written at once', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, specOf('seq 1 300000')))
    await connected.end(uuid, 1)
    const sum = createHash('sha256').update(connected.output(uuid, 1)).digest('hex')
    const lines = Array.from({ length: 300_000 }, (_, i) => `${i + 1}\n`).join('')
    expect(sum).toBe(createHash('sha256').update(lines).digest('hex'))
  })
})
