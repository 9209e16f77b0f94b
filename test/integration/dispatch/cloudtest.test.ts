/** `skylab cloudtest` on the test cloud with real SSH servers, and on this host: what it finds, and that it leaves nothing. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { quickTimes } from '../../../dev/dispatch/times.ts'
import { cloudtest } from '../../../src/cli/cloudtest.ts'
import { Machines } from '../../../src/clouds/loopback/folder.ts'
import { newKey } from '../../../src/ssh/new-key.ts'
import { driverOf, intentOf, someCall, startLimitMs, whyNoVms } from '../../kit/cloud/cloud.ts'
import { type CloudSite, cloudSite, ec2Types } from '../../kit/dispatch/on-ec2.ts'
import { builtProgram } from '../../kit/program/program.ts'
import { testBed } from '../../kit/testbed.ts'

interface Report {
  readonly ok: boolean
  readonly set: string
  readonly instance: string
  readonly steps: readonly { readonly step: string; readonly ok: boolean; readonly words: string }[]
  readonly left: Readonly<Record<string, string>>
}

const all = ['program', 'leftovers', 'create', 'list', 'connect', 'boot', 'install', 'run', 'destroy']
/** The end of a machine is asked for 30 times. */
const times = { ...quickTimes, TimeoutShutdown: '100ms' } as const

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-cloudtest-'))
  writeFileSync(join(folder, 'token'), randomBytes(24).toString('hex'))
  writeFileSync(join(folder, 'key'), newKey().private)
})
afterEach(() => rmSync(folder, { recursive: true }))

function configured(block: object, InstanceTypes: object): string {
  const file = join(folder, 'skylab.yaml')
  const dispatch = {
    ...{ clusterId: 'zzzzz', tokenFile: 'token', InstanceTypes, CloudVMs: { ...times, ...block } },
    Containers: { DispatchPrivateKey: 'key', RuntimeEngine: 'process' },
  }
  writeFileSync(file, stringify({ run: ['dispatch'], dispatch }))
  return file
}

/** @param onWords is given what is said meanwhile, and may end the test */
async function run(file: string, args: readonly string[] = [], onWords = (_: string, __: AbortController) => {}) {
  const [stop, force] = [new AbortController(), new AbortController()]
  const [out, err]: [string[], string[]] = [[], []]
  const output = {
    out: (text: string) => void out.push(text),
    err: (text: string) => {
      err.push(text)
      onWords(text, stop)
    },
  }
  const signals = { stop: stop.signal, force: force.signal }
  const code = await cloudtest(['--config', file, '--json', ...args], output, signals)
  const report = JSON.parse(out.join('')) as Report
  return { code, report, said: err.join(''), outcome: outcomeOf(report) }
}

/** The steps that succeeded, and the words of those that did not. */
const outcomeOf = ({ steps }: Report) => steps.map(({ step, ok, words }) => (ok ? step : `${step}: ${words}`))

const reason = whyNoVms()
describe.skipIf(reason !== null)(
  `cloudtest on EC2${reason === null ? '' : `, which cannot run here: ${reason}`}`,
  () => {
    let site: CloudSite
    beforeAll(async () => {
      site = await cloudSite()
    }, startLimitMs)
    afterAll(() => site?.close())
    afterEach(() => {
      site.cloud.faults.clear()
      site.cloud.faults.limits = {}
    })

    const on = (block: object = {}) => configured({ ...site.block, ...block }, ec2Types)
    const nothingIsLeft = () => {
      expect(site.cloud.live()).toEqual([])
      expect(site.cloud.machines!.running).toEqual([])
    }
    const failing = { TimeoutBooting: '4s', BootProbeCommand: 'echo not yet >&2; false' }

    test('does all steps, and leaves nothing', async () => {
      const { code, report, outcome, said } = await run(on())
      expect([code, outcome]).toEqual([0, all])
      expect(report.steps.at(-2)!.words).toMatch(/^exit code 0: it runs\nLinux /)
      expect(said).toContain(`ArvadosInstanceSetID=${report.set}`)
      // The machine's secret has this form too.
      const texts = `${said}${JSON.stringify(report)}`.match(/\b[0-9a-f]{40}\b/g) ?? []
      expect(new Set(texts)).toEqual(new Set([report.set]))
      nothingIsLeft()
    })

    test('shows the exit code and the words of a command that fails', async () => {
      const { code, outcome } = await run(on(), ['--command', 'echo no such disk >&2; exit 3'])
      expect([code, outcome.slice(-2)]).toEqual([1, ['run: it ended with exit code 3: no such disk', 'destroy']])
      nothingIsLeft()
    })

    test.each([
      ['no capacity', { capacity: { 'm5.large': 0 } }, /^create: the cloud has no machine of this type now: /],
      ['no quota', { quota: { m5: 0 } }, /^create: the account is at its quota: /],
    ])('fails at the creation when the cloud has %s', async (_, limits, words) => {
      site.cloud.faults.limits = limits
      const { code, report, outcome } = await run(on())
      expect([code, report.instance]).toEqual([1, ''])
      expect(outcome).toEqual(['program', 'leftovers', expect.stringMatching(words)])
      nothingIsLeft()
    })

    test('sends nothing to a machine with another secret', async () => {
      const other = 'printf %s 0123 > /var/run/arvados-instance-secret; sleep 0'
      const { code, outcome } = await run(on({ InstanceInitCommand: other, BootProbeCommand: 'touch /run/sent' }))
      expect(code).toBe(1)
      expect(outcome.slice(-2)).toEqual([
        expect.stringMatching(/^connect: another machine than ours answers at /),
        'destroy',
      ])
      nothingIsLeft()
    })

    test('says what the boot probe says when it fails until TimeoutBooting', async () => {
      const { code, outcome } = await run(on(failing))
      const words = 'boot: it took too long: BootProbeCommand fails: exit code 1: not yet'
      expect([code, outcome.slice(-2)]).toEqual([1, [words, 'destroy']])
      nothingIsLeft()
    })

    test('asks again when the cloud says yes to the end and does nothing', async () => {
      site.cloud.faults.add({ action: 'TerminateInstances', effect: { lie: true }, times: 2 })
      const { code, report } = await run(on())
      expect(code).toBe(0)
      const asked = site.cloud.journal.of('TerminateInstances').filter(({ ids }) => ids.includes(report.instance))
      expect(asked.length).toBeGreaterThanOrEqual(3)
      nothingIsLeft()
    })

    test('names what it could not end, which a later test reports, and ends with --destroy-existing alone', async () => {
      const neighbour = driverOf(site.cloud, 'somebody-else')
      const { id: foreign } = await neighbour.create(
        intentOf({ token: 'other', tags: { InstanceSetID: 'somebody-else' } }),
        ...[[], someCall],
      )
      site.cloud.faults.add({ action: 'TerminateInstances', effect: { lie: true }, times: null })
      const first = await run(on())
      const { instance } = first.report
      expect([first.code, first.report.left]).toEqual([1, { [instance]: 'it is still running' }])
      expect(first.outcome.at(-1)).toBe(`destroy: ${instance}: it is still running`)
      expect(first.said).toContain(`left in the cloud, and costs money: ${instance}`)
      site.cloud.faults.clear()
      const second = await run(on())
      const words = `leftovers: an earlier test left ${instance}: run again with --destroy-existing`
      expect([second.code, second.outcome]).toEqual([1, ['program', words]])
      expect(site.cloud.live()).toContain(instance)
      const third = await run(on(), ['--destroy-existing'])
      expect([third.code, third.outcome]).toEqual([0, all])
      expect(site.cloud.live()).toEqual([foreign])
      await neighbour.destroy(foreign, someCall)
      await neighbour.close()
      nothingIsLeft()
    })

    test('makes one machine when the answer to its creation is lost', async () => {
      site.cloud.faults.add({ action: 'RunInstances', effect: { cut: 'after' } })
      const before = site.cloud.journal.of('RunInstances').length
      const { code, report } = await run(on())
      expect(code).toBe(0)
      const asked = site.cloud.journal.of('RunInstances').slice(before)
      expect(asked.map(({ ids }) => ids.at(-1))).toEqual([report.instance, report.instance])
      nothingIsLeft()
    })

    test('ends its machine when it is interrupted', async () => {
      const { code, outcome } = await run(on(failing), [], (words, stop) => {
        if (words.includes('BootProbeCommand fails')) stop.abort(new Error('it was interrupted (SIGINT)'))
      })
      expect([code, outcome.slice(-2)]).toEqual([1, ['boot: it was interrupted (SIGINT)', 'destroy']])
      nothingIsLeft()
    })

    test('finds and ends its machine when it is interrupted before the cloud has answered', async () => {
      site.cloud.faults.add({ action: 'RunInstances', effect: { silent: 'after' } })
      const { code, report, outcome } = await run(on(), [], (words, stop) => {
        if (words !== 'create …\n') return
        void expect
          .poll(() => site.cloud.live().length, { timeout: 20_000, interval: 20 })
          .toBe(1)
          .finally(() => stop.abort(new Error('it was interrupted (SIGINT)')))
      })
      expect([code, report.instance]).toEqual([1, ''])
      expect(outcome.slice(-2)).toEqual(['create: it was interrupted (SIGINT)', 'destroy'])
      expect(report.steps.at(-1)!.words).toMatch(/^i-[0-9a-f]+ is gone$/)
      nothingIsLeft()
    })

    test('removes interfaces that got no machine', async () => {
      site.cloud.faults.limits = { capacity: { 'm5.large': 0 } }
      const { code, outcome } = await run(on({ DriverParameters: { ...site.cloud.parameters, SeparateNIC: true } }))
      expect([code, outcome.at(-1)]).toEqual([1, 'destroy'])
      const of = (action: string) => site.cloud.journal.of(action).filter(({ carriedOut }) => carriedOut)
      // One in each subnet.
      expect([of('CreateNetworkInterface').length, of('DeleteNetworkInterface').length]).toEqual([2, 2])
      nothingIsLeft()
    })
  },
)

test('does all steps on machines of this host, and leaves nothing', async () => {
  const directory = join(folder, 'cloud')
  // The runner of the program as built, since tests run from the source.
  const runner = join(folder, 'skylab')
  const bundle = join(builtProgram(testBed().stateDir).modules, 'runner.cjs')
  writeFileSync(runner, `#!/bin/sh\nexec ${process.execPath} ${bundle} "$@"\n`, { mode: 0o755 })
  const block = { Driver: 'loopback', DriverParameters: { Directory: directory }, BootProbeCommand: 'true' }
  const { code, report, outcome } = await run(configured({ ...block, DeployRunnerBinary: runner }, ec2Types))
  expect([code, outcome]).toEqual([0, all])
  expect(report.steps.find(({ step }) => step === 'install')!.words).toBe('the runner was copied')
  expect((await new Machines(directory).all()).filter(({ state }) => state !== 'gone')).toEqual([])
})
