/** Checks of the block `idle`, and its warnings. */
import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { configWarnings, crossProblems } from './checks.ts'

const parsed = (idle: object, more: object = {}) =>
  configSchema.parse({
    identity: { provider: 'static', static: { file: 'x' } },
    idle: { enabled: true, ...idle },
    ...more,
  })
const ofIdle = (lines: readonly string[]) => lines.filter(line => line.startsWith('idle'))
const problemsOf = (idle: object, more?: object) => ofIdle(crossProblems(parsed(idle, more)))
const warningsOf = (idle: object, more?: object) => ofIdle(configWarnings(parsed(idle, more)))
const rule = (name: string, more: object = {}) => ({ name, idleTimeoutSeconds: 3600, ...more })

describe('crossProblems of idle', () => {
  it.each([
    [{ restPeriodSeconds: 30 }, 'idle.restPeriodSeconds: is less than idle.checkPeriodSeconds'],
    [{ probeTimeoutSeconds: 16 }, 'idle.probeTimeoutSeconds: is more than 15: another replica would follow meanwhile'],
    [{ rules: [rule('a'), rule('a')] }, 'idle.rules.1.name: is the name of idle.rules.0 too'],
    [
      { rules: [rule('a', { idleTimeoutSeconds: 600 })] },
      'idle.rules.0.warnSeconds: is not less than idle.rules.0.idleTimeoutSeconds, so there is always a warning',
    ],
    [
      { rules: [rule('a', { idleTimeoutSeconds: undefined, maxAgeSeconds: 500 })] },
      'idle.rules.0.warnSeconds: is not less than idle.rules.0.maxAgeSeconds, so there is always a warning',
    ],
  ])('has a problem when times or names contradict each other: %j', (idle, problem) => {
    expect(problemsOf(idle)).toEqual([problem])
  })

  it('has none when a short time-out has no warning', () => {
    expect(problemsOf({ rules: [rule('a', { idleTimeoutSeconds: 1, warnSeconds: 0 })] })).toEqual([])
  })

  it('has none for tenants', () => {
    expect(problemsOf({ rules: [rule('a'), rule('a')] }, { run: ['tenants'] })).toEqual([])
  })

  it('has one when a rule asks nothing of what no gateway serves', () => {
    const sources = ['traffic', 'push']
    expect(problemsOf({ rules: [rule('a', { sources })] })).toEqual([
      'idle.rules.0.sources: names none by which a lab is asked, so a busy one would count as idle',
    ])
    expect(problemsOf({ rules: [rule('a', { sources, match: { kinds: ['app'] } })] })).toEqual([])
    const notebooks = rule('a', { sources, match: { kinds: ['app', 'notebook'] } })
    expect(problemsOf({ enabled: true, rules: [notebooks] }, { run: ['notebooks'] })).toEqual([
      'idle.rules.0.sources: names none by which a notebook is asked, so a busy one would count as idle',
    ])
  })

  it('has one when a rule for notebooks asks them nothing', () => {
    const rules = [rule('a', { sources: ['push'], match: { kinds: ['lab', 'notebook'] } })]
    expect(problemsOf({ rules }, { run: ['notebooks'] })).toEqual([
      'idle.rules.0.sources: names none by which a notebook is asked, so a busy one would count as idle',
    ])
  })

  it('has one when a process for notebooks is to stop nothing', () => {
    expect(problemsOf({ enabled: false }, { run: ['notebooks'] })).toEqual([
      'idle.enabled: is false, so this process would do nothing',
    ])
  })
})

it('crossProblems has a problem when traffic of apps could be reported too late', () => {
  const ofApps = (idleTimeoutSeconds: number, kinds = ['app']) =>
    problemsOf({ rules: [rule('a', { match: { kinds }, idleTimeoutSeconds, warnSeconds: 0 })] })
  expect(ofApps(59)).toEqual([
    'idle.rules.0.idleTimeoutSeconds: is less than 60, so traffic could be reported too late',
  ])
  expect([...ofApps(60), ...ofApps(1, ['lab'])]).toEqual([])
})

describe('crossProblems of rules that go by what pods use', () => {
  const byCpu = (more: object = {}) => rule('a', { sources: ['kernels', 'cpu'], cpu: { millicores: 100 }, ...more })

  it.each([
    [
      byCpu({ sources: ['cpu', 'push'] }),
      '.sources: names none by which a lab is asked, so a busy one would count as idle',
    ],
    [byCpu({ match: { kinds: ['notebook'] } }), '.sources: names cpu, which is measured of labs and apps alone'],
    [
      byCpu({ idleTimeoutSeconds: 180, warnSeconds: 0 }),
      '.idleTimeoutSeconds: is not more than three idle.cpuPeriodSeconds, so cpu could be seen too late',
    ],
  ])('has a problem when a busy lab could count as idle: %j', (each, problem) => {
    expect(problemsOf({ rules: [each] })).toEqual([`idle.rules.0${problem}`])
  })

  it('has none when the lab is asked too, and the time is longer', () => {
    expect(problemsOf({ rules: [byCpu({ idleTimeoutSeconds: 181, warnSeconds: 0 })] })).toEqual([])
  })
})

describe('configWarnings of idle', () => {
  const sizes = { lab: { sizes: { small: { limits: { cpu: 1, memory: '1Gi' } } }, defaultSize: 'small' } }

  it.each<[object, string | RegExp]>([
    [{}, 'idle.rules: is empty, so nothing is ever stopped'],
    [{ rules: [rule('a', { maxAgeSeconds: 7200 })] }, /^idle\.rules\.0\.keepAlive\.maxSeconds: is more than/],
    [
      { rules: [rule('a', { maxAgeSeconds: 3600, keepAlive: { maxSeconds: 0 } })] },
      /^idle\.rules\.0\.idleTimeoutSeconds: is not less than/,
    ],
    [
      { rules: [rule('a'), rule('b', { match: { users: ['x'] } })] },
      /^idle\.rules\.1: never matches, since idle\.rules\.0 /,
    ],
    [
      { rules: [rule('a', { match: { kinds: ['lab', 'app'] } }), rule('b', { match: { kinds: ['lab'] } })] },
      /^idle\.rules\.1: never matches/,
    ],
    [
      { rules: [rule('a', { match: { sizes: ['small', 'gpu-*'] } })] },
      /^idle\.rules\.0\.match\.sizes\.1: gpu-\* is no/,
    ],
    [{ rules: [rule('a')], credentialVariables: ['OTHER'] }, /^idle\.credentialVariables\.0: no pattern of/],
  ])('warns when a setting does nothing, or tells too much: %j', (idle, words) => {
    const matching = typeof words === 'string' ? words : expect.stringMatching(words)
    expect(warningsOf(idle, sizes)).toEqual([matching])
  })

  it.each([
    [{ rules: [rule('a', { match: { users: ['*'] } }), rule('b')] }],
    [{ rules: [rule('a', { match: { kinds: ['lab'] } }), rule('b')] }],
    [{ rules: [rule('a', { match: { kinds: ['notebook'], sizes: ['gpu-*'] } })] }],
    [{ enabled: false }],
  ])('does not warn when every setting has its use: %j', idle => {
    expect(warningsOf(idle, sizes)).toEqual([])
  })

  it('warns when a rule for notebooks matches by what only labs have', () => {
    const rules = [
      rule('a', { match: { sizes: ['x'], users: ['y'], namespaces: ['z'] } }),
      rule('b', { match: { kinds: ['lab'], sizes: ['x'] } }),
    ]
    expect(warningsOf({ rules }, { run: ['notebooks'] })).toEqual([
      'idle.rules.0.match.sizes: no notebook and no StatefulSet has any, so it never matches here',
      'idle.rules.0.match.users: no notebook and no StatefulSet has any, so it never matches here',
    ])
  })

  it('warns when a rule for apps matches by users, or asks them what Jupyter alone answers', () => {
    const apps = { match: { kinds: ['app'] } }
    const rules = [
      rule('a', { ...apps, sources: ['kernels', 'traffic'] }),
      rule('b', { match: { kinds: ['app'], users: ['ada'] }, sources: ['traffic', 'cpu'], cpu: { millicores: 5 } }),
    ]
    expect(warningsOf({ rules }, { run: ['apps'] })).toEqual(
      expect.arrayContaining([
        'idle.rules.0.sources: names kernels, so an app that is no Jupyter is never stopped for idleness',
        'idle.rules.1.match.users: no app has one, so it never matches here',
      ]),
    )
    expect(problemsOf({ rules }, { run: ['apps'] })).toEqual([])
    expect(warningsOf({ rules: [rule('c', { ...apps, sources: ['traffic'] })] }, { run: ['apps'] })).toEqual([])
  })

  it('warns when the process runs nothing that is ever idle', () => {
    expect(warningsOf({ rules: [rule('a')] }, { run: ['tenants'] })).toEqual([
      'idle.enabled: has no effect, since this process runs nothing that is ever idle',
    ])
  })
})
