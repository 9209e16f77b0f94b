/** The list of Redis' commands has exactly what the sources call, and so has a line of an ACL. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  aclLine,
  commandsOfGateways,
  commandsOfHeal,
  commandsOfReplicas,
  dispatchAclLine,
  gatewayAclLine,
  scriptsOfGateways,
} from './rights.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const read = (path: string) => readFileSync(at(path), 'utf8')
const files = (folder: string, ending: RegExp) =>
  readdirSync(at(folder), { recursive: true, encoding: 'utf8' })
    .filter(name => ending.test(name) && !/test/.test(name))
    .map(name => read(`${folder}/${name}`))

/** Commands of scripts, which write them in capitals; `XRANGE` is the head of a table. */
const inScripts = files('commands', /\.lua$/).flatMap(lua => [
  ...[...lua.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, name]) => name!.toLowerCase()),
  ...[...lua.matchAll(/= \{ '([A-Z]+)', KEYS/g)].map(([, name]) => name!.toLowerCase()),
])
/** Commands of the program, as methods of its client. */
const inSource = files('.', /\.ts$/).flatMap(source =>
  [...source.matchAll(/\b(?:redis|pipeline\(\))\s*\.([a-z]+)\(|\)\.(info)\(|commands\.(info)\(/g)].map(
    ([, method, chained, asked]) => (method ?? chained ?? asked)!,
  ),
)
/** Methods that are not commands. */
const ofClient = ['connect', 'defineCommand', 'disconnect', 'on', 'call', 'listening', 'pipeline']
/** The client sends scripts by their hash, and whole if Redis does not know it. */
const bySending = ['eval', 'evalsha']
const inRedlock = [
  ...read('../../node_modules/redlock/dist/cjs/index.js')
    .split('EXTEND_SCRIPT')[0]!
    .matchAll(/redis\.call\("([a-z]+)"/g),
].map(([, name]) => name!)

describe('commandsOfReplicas', () => {
  test('has exactly the commands that scripts and program call', () => {
    const called = [...inScripts, ...inSource, ...inRedlock, ...bySending].filter(name => !ofClient.includes(name))
    // Only gateways load their scripts.
    const listed = [...commandsOfReplicas, ...commandsOfHeal, 'script']
    expect([...new Set(called)].sort()).toEqual([...listed].sort())
  })

  test('has no administrative command', () => {
    const powers = [
      'acl',
      'config',
      'keys',
      'flushall',
      'flushdb',
      'module',
      'replicaof',
      'shutdown',
      'debug',
      'monitor',
    ]
    for (const power of powers) expect(commandsOfReplicas).not.toContain(power)
    expect(commandsOfReplicas).not.toContain('scan')
  })
})

describe('aclLine', () => {
  test('resets the user, and permits only keys of one installation', () => {
    const line = aclLine({ name: 'skylab', password: '>secret', keyPrefix: 'observatory' })
    expect(line).toMatch(/^user skylab reset on >secret ~\{observatory\}:\* \+del .* \+zscore$/)
    expect(line).not.toMatch(/@|&/)
    expect(aclLine({ name: 'x', password: 'nopass', keyPrefix: 'y', more: commandsOfHeal })).toMatch(/ \+scan$/)
  })
})

describe('commandsOfGateways', () => {
  const folder = at('commands')
  const source = (script: string) => read(`commands/${readdirSync(folder).find(file => file.startsWith(`${script}.`))}`)
  const withIncludes = (lua: string) => [
    lua,
    ...(/^-- @include (.+)$/m.exec(lua)?.[1]?.split(' ') ?? []).map(name => read(`commands/include/${name}.lua`)),
  ]
  const called = scriptsOfGateways
    .flatMap(script => withIncludes(source(script)))
    .flatMap(lua => [...lua.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, name]) => name!.toLowerCase()))

  test('has exactly what their scripts call, beside their own reads and what sends scripts', () => {
    const own = ['evalsha', 'get', 'hgetall', 'hmget', 'info', 'script|load', 'xread', 'xrevrange']
    expect([...new Set([...called, ...own])].sort()).toEqual([...commandsOfGateways])
  })

  test('has neither EVAL nor an administrative command', () => {
    expect(commandsOfGateways.filter(name => !commandsOfReplicas.includes(name))).toEqual(['script|load'])
    expect(commandsOfGateways).not.toContain('eval')
  })
})

describe('dispatchAclLine', () => {
  test('permits the keys of its installation, and of those of tenants one to read', () => {
    const common = { name: 'dispatch', password: '>secret', keyPrefix: 'p' }
    const line = dispatchAclLine({ ...common, tenants: 't' })
    expect(line.replace(' %R~{t}:tenant-members', '')).toBe(aclLine(common))
  })
})

describe('gatewayAclLine', () => {
  test('permits the keys of gateways alone, and four to read', () => {
    const line = gatewayAclLine({ name: 'gateway', password: '>secret', keyPrefix: 'p' })
    expect(line).toMatch(
      /^user gateway reset on >secret ~\{p\}:gw:\* ~\{p\}:app-intents ~\{p\}:bell-of-apps ~\{p\}:activity:app:\* ~\{p\}:activity-flushed:app %R~\{p\}:app-routes %R~\{p\}:app-members %R~\{p\}:activity-floor %R~\{p\}:generation \+del /,
    )
    expect(line).not.toMatch(/@|&| ~\*|\+eval /)
  })
})
