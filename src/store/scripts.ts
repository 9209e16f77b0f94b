/**
 * The Lua commands. Each is one file named `verb-noun.<number of keys>.lua` (`n` if the caller passes it). Its header has the
 * guarantee, KEYS with their types, ARGV and returns. `-- @include a b` puts the functions of `include/` before it.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { codeOf } from './replies.ts'

const folder = new URL('commands/', import.meta.url)

interface Command {
  readonly name: string
  /** undefined: the caller passes the number */
  readonly keys: number | undefined
  readonly lua: string
}

const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')

function load(file: string): Command {
  const [, name, keys] = /^([a-z-]+)\.(\d+|n)\.lua$/.exec(file) ?? []
  if (name === undefined) throw new Error(`not the name of a command: ${file}`)
  const source = read(file)
  const includes = /^-- @include (.+)$/m.exec(source)?.[1]?.split(' ') ?? []
  const lua = [...includes.map(include => read(`include/${include}.lua`)), source].join('\n')
  return { name, keys: keys === 'n' ? undefined : Number(keys), lua }
}

const commands = new Map(
  readdirSync(folder)
    .filter(file => file.endsWith('.lua'))
    .map(load)
    .map(command => [command.name, command]),
)

/** Defines every command on a connection. It sends the hash, and the source only if Redis does not know the hash. */
export function defineCommands(redis: Redis): void {
  for (const { name, keys, lua } of commands.values()) {
    redis.defineCommand(name, keys === undefined ? { lua } : { lua, numberOfKeys: keys })
  }
}

/** Calls a command on a connection. */
export type CallCommand = (
  redis: Redis,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>

/** Calls a command on a connection that has it defined. */
export const callCommand: CallCommand = (redis, name, keys, args) => {
  const command = commandOf(name, keys)
  const call = (redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]
  const count = command.keys === undefined ? [keys.length] : []
  return call!.call(redis, ...count, ...keys, ...args)
}

/** The same without EVAL, which the user of gateways is not allowed to call: it loads what Redis does not know. */
export const callLoaded: CallCommand = async (redis, name, keys, args) => {
  const { lua } = commandOf(name, keys)
  const sha = createHash('sha1').update(lua).digest('hex')
  const call = () => redis.evalsha(sha, keys.length, ...keys, ...args)
  try {
    return await call()
  } catch (error) {
    if (codeOf(error) !== 'NOSCRIPT') throw error
    await redis.script('LOAD', lua)
    return call()
  }
}

function commandOf(name: string, keys: readonly string[]): Command {
  const command = commands.get(name)
  if (!command) throw new Error(`no such command: ${name}`)
  if (command.keys !== undefined && command.keys !== keys.length) {
    throw new Error(`${name} takes ${command.keys} keys, not ${keys.length}`)
  }
  return command
}
