import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { secret, specOf, TestMachine, uuidOf, warrantOf } from '../../test/kit/runner/machine.ts'
import { RefusedByRunner } from '../dispatch/attached.ts'
import { Machine } from './state/machine.ts'

const uuid = uuidOf(1)
const sleeper = (run: number) => warrantOf(uuid, run, specOf('sleep 60'))
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    error => (error instanceof RefusedByRunner ? error : Promise.reject(error)),
  )

describe.concurrent('attach', () => {
  it('refuses a lower epoch, with the highest one and the secret', async () => {
    await using machine = await TestMachine.make()
    await machine.attach(7)
    const late = machine.connect()
    expect(await refusal(late.keeper.hello(6))).toMatchObject({ why: 'epoch', highest: 7 })
    expect(await late.closed).toBeInstanceOf(RefusedByRunner)
  })

  it('tells nothing of epochs to a keeper that expects another secret', async () => {
    await using machine = await TestMachine.make()
    await machine.attach(7)
    const late = machine.connect({ secret: `${secret}!` })
    expect(await refusal(late.keeper.hello(6))).toMatchObject({ why: 'epoch', highest: undefined })
  })

  it('refuses acts before a hello', async () => {
    await using machine = await TestMachine.make()
    expect(await refusal(machine.connect().keeper.list())).toMatchObject({ why: 'epoch' })
  })

  it('ends the older connection when a higher epoch says hello', async () => {
    await using machine = await TestMachine.make()
    const old = await machine.attach(7)
    await machine.attach(8)
    expect(await old.closed).toMatchObject({ why: 'epoch', highest: 8 })
    await old.exited
  })

  it('obeys only the last connection of one epoch', async () => {
    await using machine = await TestMachine.make()
    const first = await machine.attach(7)
    const last = await machine.attach(7)
    expect(await first.closed).toMatchObject({ why: 'epoch' })
    await last.keeper.start(sleeper(1))
  })

  it('lets a newer hello wait for an act that was checked', async () => {
    await using machine = await TestMachine.make()
    const old = await machine.attach(7)
    const hold = machine.failpoints.arm('runner.start.checked', 'hold')
    const started = old.keeper.start(sleeper(1))
    await hold.landed()
    const next = machine.connect()
    const welcome = next.keeper.hello(8)
    hold.release()
    await started
    expect(await welcome).toMatchObject({ highestRun: 1 })
    expect((await next.keeper.list()).runs).toMatchObject([{ uuid, run: 1 }])
  })

  it('lets the next one in when a process dies inside the gate, without a word to those that wait', async () => {
    await using machine = await TestMachine.make()
    const old = machine.connect()
    const stop = machine.failpoints.arm('runner.hello.checked', 'stop')
    const lost = old.keeper.hello(7)
    await stop.landed()
    const welcome = machine.connect().keeper.hello(8)
    const name = `@skylab-${Machine.openMade(machine.dir).id}-gate`
    // The lock, and a connection that its process never accepts.
    const waits = () => readFileSync('/proc/net/unix', 'utf8').split(name).length > 2
    while (!waits()) await new Promise(resolve => setTimeout(resolve, 10))
    old.child.kill('SIGKILL')
    await expect(lost).rejects.toThrow()
    await welcome
  })

  it('refuses an act that comes while a newer hello is in the gate', async () => {
    await using machine = await TestMachine.make()
    const old = await machine.attach(7)
    const hold = machine.failpoints.arm('runner.hello.checked', 'hold')
    const next = machine.connect()
    const welcome = next.keeper.hello(8)
    await hold.landed()
    const refused = refusal(old.keeper.start(sleeper(1)))
    hold.release()
    await welcome
    expect(await refused).toMatchObject({ why: 'epoch', highest: 8 })
    expect((await next.keeper.list()).runs).toEqual([])
  })

  it('refuses a start that waits in the pipe of a stopped process until a list lacked it', async () => {
    await using machine = await TestMachine.make()
    const old = await machine.attach(7)
    await machine.halt(old)
    const late = refusal(old.keeper.start(sleeper(1)))
    const next = await machine.attach(7)
    expect((await next.keeper.list()).runs).toEqual([])
    old.child.kill('SIGCONT')
    expect(await late).toMatchObject({ why: 'epoch' })
    expect((await next.keeper.list()).runs).toEqual([])
  })
})

const steps = [
  ...['runner.gate.inside', 'runner.start.current', 'runner.start.checked', 'runner.start.stored'],
  ...['runner.launch.forked', 'runner.launch.locked', 'runner.launch.told'],
]

/**
 * Starts a run as a keeper does. A supervisor that never got `go` has the lock until it ends: the run looks as if it had begun,
 * and then the connection ends. So the keeper connects, and lists again.
 */
async function begin(machine: TestMachine, warrant: ReturnType<typeof warrantOf>) {
  for (;;) {
    const next = await machine.attach(8)
    const { runs, broken } = await next.keeper.list()
    expect(broken).toBeUndefined()
    try {
      await next.keeper.start(warrant)
      const { seq } = await next.running(uuid, 3)
      return { next, runs, seq }
    } catch (error) {
      await next.closed
      if (!/a run never began/.test(await next.stderr)) throw error
    }
  }
}

describe.concurrent('a start', () => {
  it.each(steps)('has begun once, or not at all, when its process is killed at %s', async point => {
    await using machine = await TestMachine.make()
    const audit = join(machine.folder, 'audit')
    const warrant = warrantOf(uuid, 3, specOf(`echo $SKYLAB_CONTAINER_RUN >> ${audit}; echo written; sleep 60`))
    const old = await machine.attach(7)
    const kill = machine.failpoints.arm(point, 'kill')
    await expect(old.keeper.start(warrant)).rejects.toThrow()
    await kill.landed()
    await old.exited
    // The same run again: the same answer.
    const { next, runs, seq } = await begin(machine, warrant)
    expect(seq).toBe(1)
    await next.until(() => next.output(uuid, 3) === 'written\n')
    expect(runs.length === 0 || runs[0]!.run === 3).toBe(true)
    await next.keeper.kill(uuid, 3)
    await next.end(uuid, 3)
    expect(readFileSync(audit, 'utf8')).toBe('3\n')
  })

  it.each(['runner.launch.forked', 'runner.launch.locked'])(
    'never begins when its process is killed at %s: the supervisor hears no word, and ends',
    async point => {
      await using machine = await TestMachine.make()
      const audit = join(machine.folder, 'audit')
      const old = await machine.attach(7)
      machine.failpoints.arm(point, 'kill')
      await expect(old.keeper.start(warrantOf(uuid, 3, specOf(`echo begun > ${audit}; sleep 60`)))).rejects.toThrow()
      const supervises = () => machine.processes().some(({ line }) => line.includes('supervise'))
      while (supervises() && !existsSync(audit)) await new Promise(resolve => setTimeout(resolve, 10))
      expect(existsSync(audit)).toBe(false)
      expect((await (await machine.attach(8)).keeper.list()).runs).toEqual([])
    },
  )

  it('ends the connection that heard it has begun when its supervisor never got the word to go', async () => {
    await using machine = await TestMachine.make()
    const old = await machine.attach(7)
    const hold = machine.failpoints.arm('runner.supervise.locked', 'hold')
    const lost = old.keeper.start(sleeper(3))
    await hold.landed()
    old.child.kill('SIGKILL')
    await expect(lost).rejects.toThrow()
    const next = await machine.attach(8)
    // The lock is held, so it looks as if it had begun.
    await next.keeper.start(sleeper(3))
    hold.release()
    await next.closed
    const last = await machine.attach(9)
    expect((await last.keeper.list()).runs).toEqual([])
    await last.keeper.start(sleeper(3))
    await last.running(uuid, 3)
  })

  it('is refused when its supervisor dies before it gets the word to go, and the machine is as good as before', async () => {
    await using machine = await TestMachine.make()
    const { keeper } = await machine.attach(7)
    machine.failpoints.arm('runner.supervise.locked', 'kill')
    expect(await refusal(keeper.start(sleeper(3)))).toMatchObject({ why: 'broken' })
    expect(await keeper.list()).toEqual({ runs: [], broken: undefined })
    await keeper.start(sleeper(3))
  })

  it.each(['runner.supervise.begun', 'runner.supervise.started'])(
    'ends, with all its processes, when its supervisor is killed at %s',
    async point => {
      await using machine = await TestMachine.make()
      const connected = await machine.attach(7)
      machine.failpoints.arm(point, 'kill')
      // Either answer is true: it was begun.
      await refusal(connected.keeper.start(sleeper(3)))
      expect((await connected.end(uuid, 3)).entry).toMatchObject({ end: { reason: 'the supervisor was lost' } })
      expect(machine.processes().filter(({ line }) => line.includes('sleep'))).toEqual([])
      const { runs, broken } = await connected.keeper.list()
      expect(broken).toContain('was lost')
      expect(runs).toMatchObject([{ state: 'stale', end: { reason: 'the supervisor was lost' } }])
    },
  )
})

describe.concurrent('a hello', () => {
  it.each(['runner.hello.checked', 'runner.hello.stored'])('may die at %s', async point => {
    await using machine = await TestMachine.make()
    machine.failpoints.arm(point, 'kill')
    await expect(machine.connect().keeper.hello(7)).rejects.toThrow()
    await machine.attach(8)
    expect(await refusal(machine.connect().keeper.hello(7))).toMatchObject({ highest: 8 })
  })
})

describe.concurrent('a run', () => {
  it('is refused below the highest of its container', async () => {
    await using machine = await TestMachine.make()
    const { keeper } = await machine.attach(7)
    await keeper.start(warrantOf(uuid, 5, specOf('exit 3')))
    expect(await refusal(keeper.start(sleeper(4)))).toMatchObject({ why: 'run', highest: 5 })
  })

  it('is refused for ever once its end was acknowledged, and so are lower ones', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    const { keeper } = connected
    await keeper.start(warrantOf(uuid, 5, specOf('exit 3')))
    connected.ack(await connected.end(uuid, 5))
    expect((await keeper.list()).runs).toEqual([])
    for (const run of [1, 4, 5])
      expect(await refusal(keeper.start(sleeper(run)))).toMatchObject({ why: 'run', highest: 5 })
    const next = await machine.attach(8)
    expect(await refusal(next.keeper.start(sleeper(5)))).toMatchObject({ why: 'run', highest: 5 })
    await next.keeper.start(sleeper(6))
  })

  it('waits for the end of an earlier run of its container', async () => {
    await using machine = await TestMachine.make()
    const { keeper } = await machine.attach(7)
    await keeper.start(sleeper(5))
    expect(await refusal(keeper.start(sleeper(6)))).toMatchObject({ why: 'busy' })
    await keeper.start(warrantOf(uuidOf(2), 6, specOf('sleep 60')))
  })

  it('is forgotten when a process died after its end was acknowledged', async () => {
    await using machine = await TestMachine.make()
    const old = await machine.attach(7)
    await old.keeper.start(warrantOf(uuid, 5, specOf('exit 3')))
    const kill = machine.failpoints.arm('runner.ack.stored', 'kill')
    old.ack(await old.end(uuid, 5))
    await kill.landed()
    const next = await machine.attach(8)
    expect((await next.keeper.list()).runs).toEqual([])
    expect(await refusal(next.keeper.start(sleeper(5)))).toMatchObject({ why: 'run', highest: 5 })
  })

  it('is unknown to a kill when the machine does not have it', async () => {
    await using machine = await TestMachine.make()
    const { keeper } = await machine.attach(7)
    expect(await refusal(keeper.kill(uuid, 5))).toMatchObject({ why: 'unknown' })
  })
})
