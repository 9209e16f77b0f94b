/** Each header has the type of every key, which agrees with the commands that the script calls on the key. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const folder = new URL('commands/', import.meta.url)
const scripts = readdirSync(folder).filter(file => file.endsWith('.lua'))
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')

interface Key {
  readonly name: string
  readonly type: string
}

/** Reads the keys of a header, which may have several lines; other words between them are ignored. */
function keysOf(source: string): Key[] {
  const header = /^-- KEYS: (.*(?:\n-- {3}.*)*)$/m.exec(source)?.[1] ?? ''
  return [...header.matchAll(/(\w+) \((\w+)\)/g)].map(([, name, type]) => ({ name: name!, type: type! }))
}

/** Text outside the pairs `name (type)`, without comment marks. */
const restOf = (source: string) =>
  (/^-- KEYS: (.*(?:\n-- {3}.*)*)$/m.exec(source)?.[1] ?? '').replaceAll(/\w+ \(\w+\)/g, '').replaceAll(/[\s-]+/g, ' ')

/** The type of key that a command needs; undefined if it takes any type. */
function typeOf(command: string): string | undefined {
  if (['GET', 'SET'].includes(command)) return 'string'
  if (/^S(ADD|REM|ISMEMBER|MEMBERS)$/.test(command)) return 'set'
  return { H: 'hash', Z: 'zset', X: 'stream' }[command[0]!]
}

/** Commands that the script itself calls on a key, by the key's name in the header. */
function callsOf(source: string, keys: readonly Key[]): [name: string, command: string][] {
  return [...source.matchAll(/redis\.call\('([A-Z]+)', (?:KEYS\[(\d+)\]|(\w+))[,)]/g)].flatMap(
    ([, command, index, name]) => {
      const key = index === undefined ? keys.find(each => each.name === name) : keys[Number(index) - 1]
      return key ? [[key.name, command!] as [string, string]] : []
    },
  )
}

describe.each(scripts)('the header of %s', file => {
  const source = read(file)
  const keys = keysOf(source)

  it('names every key with its type', () => {
    const count = /\.(\d+)\.lua$/.exec(file)?.[1]
    if (count !== undefined) expect(keys).toHaveLength(Number(count))
    for (const { type } of keys) expect(['string', 'hash', 'set', 'zset', 'stream', 'any']).toContain(type)
    expect(restOf(source).trim()).toBe(
      {
        'check-rights.1.lua': ': any of the installation',
        'check-sessions.n.lua': 'for each session:',
        'extend-leases.n.lua': ', then for each lease:',
        'extend-sessions.n.lua': 'for each session:',
        'find-activities.n.lua': 'for each workload:',
        'heal-counter.n.lua': ', then for each kind:',
        'judge-usage.n.lua': 'for each workload:',
        'touch-activity.n.lua': ', then for each workload:',
      }[file] ?? '',
    )
  })

  it('names the keys as the script does, in the same order', () => {
    const [, names, some] = /^local (.+?) = unpack\(KEYS(?:, 1, (\d+))?\)$/m.exec(source) ?? []
    // The rest of a script with any number of keys has no names.
    const named = keys.slice(0, some === undefined ? keys.length : Number(some))
    if (names !== undefined) expect(named.map(({ name }) => name)).toEqual(names.split(', '))
  })

  it('has the types that the script’s commands need', () => {
    const types = new Map(keys.map(({ name, type }) => [name, type]))
    for (const [name, command] of callsOf(source, keys)) {
      const needed = typeOf(command)
      if (needed !== undefined) expect(`${name} (${types.get(name)})`, command).toBe(`${name} (${needed})`)
    }
  })
})

it('a key has the same type in every header', () => {
  const types = new Map<string, string>()
  for (const { name, type } of scripts.flatMap(file => keysOf(read(file)))) {
    expect(`${name} (${types.get(name) ?? type})`).toBe(`${name} (${type})`)
    types.set(name, type)
  }
})

it('the table of keys has the same types', () => {
  const table = readFileSync(new URL('keys.ts', import.meta.url), 'utf8')
  const rows = [...table.matchAll(/^ \* \| ((?:KIND)?[a-z-]+(?::[a-z-]+)?)[^|]* \| ([a-z ]+) \|/gm)].map(
    ([, name, type]) => [name, type],
  )
  const documented = new Map(rows.map(([name, type]) => [name, type === 'sorted set' ? 'zset' : type]))
  const named: Readonly<Record<string, string>> = {
    ...{ record: 'lab', failures: 'prepull-failures', epochs: 'KIND-epoch', slow: 'due-slow', told: 'activity-events' },
    ...{ login: 'gw:login', logins: 'gw:logins-of', session: 'gw:session', epoch: 'gw:epoch', revoked: 'gw:revoked' },
    ...{ revokedUser: 'gw:revoked', revokedApp: 'gw:revoked', revokedEntry: 'gw:revoked' },
    ...{ lock: 'gw:asking', used: 'gw:used', code: 'gw:code', former: 'gw:session' },
    ...{ entries: 'app-routes', removed: 'app-removed', intents: 'app-intents' },
    ...{ floor: 'activity-floor', flushed: 'activity-flushed', states: 'activity-states', stops: 'activity-stops' },
    ...{ known: 'app-told', outbox: 'bills', marks: 'bill-marks' },
    ...{
      throttle: 'dispatch-throttle',
      watched: 'dispatch-watched',
      calls: 'dispatch-calls',
      overload: 'dispatch-overload',
      mirrored: 'arvados-mirrored',
    },
    ...{ head: 'container-log', tail: 'container-log-tail' },
  }
  for (const { name, type } of scripts.flatMap(file => keysOf(read(file)))) {
    if (type !== 'any') expect(`${name}: ${documented.get(named[name] ?? name)}`).toBe(`${name}: ${type}`)
  }
})
