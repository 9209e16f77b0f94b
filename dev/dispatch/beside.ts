/** The wing of containers beside labs: a process of its own, with its own user of their Redis, to which nobody sends a container. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { dispatchUser } from '../redis/users.ts'
import { type ConfigInput, makeUsers } from '../stack/config.ts'
import { Replica, type ReplicaOptions } from '../stack/replicas.ts'
import { dispatchBlock, dispatchConfig, writeDispatch } from './site.ts'

const name = 'skylab-dispatch'
const password = 'dispatch'

/** With it all of its keys begin. */
export const tagBeside = `{${name}}:`

/** The line of its user, for an ACL file. */
export const userBeside = dispatchUser(password).trim()

/** The block as labs have it in their configuration. They leave it alone, and the files that it names. */
export const blockBeside = dispatchBlock('/nonexistent')

export interface BesideOptions extends Pick<ReplicaOptions, 'program' | 'nodeArgs' | 'env' | 'restart'> {
  /** The folder of the stack. */
  readonly stateDir: string
  /** Of Redis, as any user. */
  readonly redisUrl: string
  /** More settings of Redis. */
  readonly redis?: ConfigInput['redis']
}

/** Starts the process. Its Redis must have the user. Its run ends it. */
export async function startBeside({ stateDir, redisUrl, redis, ...options }: BesideOptions): Promise<Replica> {
  const folder = join(stateDir, 'dispatch')
  mkdirSync(folder)
  const url = Object.assign(new URL(redisUrl), { username: name, password }).href
  const config = dispatchConfig({ ...redis, url, keyPrefix: name }, dispatchBlock(join(folder, 'cloud')))
  const { configFile } = await writeDispatch(folder, config, makeUsers(2))
  return Replica.start({ ...options, name: 'dispatch', stateDir, configFile })
}
