/** The wing of containers beside labs: a process of its own, with its own user of their Redis, to which nobody sends a container. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { dispatchUser } from '../redis/users.ts'
import { type ConfigInput, type DemoUsers, makeUsers } from '../stack/config.ts'
import { Replica, type ReplicaOptions } from '../stack/replicas.ts'
import { type CloudInput, cloudOf, dispatchBlock, dispatchConfig, writeDispatch } from './site.ts'

const name = 'skylab-dispatch'
const password = 'dispatch'

/** With it all of its keys begin. */
export const tagBeside = `{${name}}:`

/** The line of its user, for an ACL file. */
export const userBeside = dispatchUser(password).trim()

/** The block as labs have it in their configuration. They leave it alone, and the files that it names. */
export const blockBeside = dispatchBlock('/nonexistent')

export interface BesideOptions extends Pick<ReplicaOptions, 'program' | 'nodeArgs' | 'env' | 'restart' | 'say'> {
  /** The folder of the stack. */
  readonly stateDir: string
  /** Of Redis, as any user. */
  readonly redisUrl: string
  /** More settings of Redis. */
  readonly redis?: ConfigInput['redis']
  /** The users who may ask for containers. Default: two, whom nobody knows. */
  readonly users?: DemoUsers
  /** More for the configuration: of the block, of its cloud, and of others. */
  readonly block?: Partial<NonNullable<ConfigInput['dispatch']>>
  readonly cloud?: CloudInput
  readonly config?: Pick<ConfigInput, 'tenants'>
}

/** The folder of its files, in that of the stack. */
export const folderBeside = (stateDir: string): string => join(stateDir, 'dispatch')

/** Its machines, as they lie on the disk. */
export const cloudBeside = (stateDir: string) => cloudOf(folderBeside(stateDir))

/** Starts the process. Its Redis must have the user. Its run ends it. */
export async function startBeside(options: BesideOptions): Promise<Replica> {
  const { stateDir, redisUrl, redis, users = makeUsers(2), block, cloud, config: more, ...others } = options
  const folder = folderBeside(stateDir)
  mkdirSync(folder)
  const url = Object.assign(new URL(redisUrl), { username: name, password }).href
  const whole = { ...dispatchBlock(cloudBeside(stateDir).folder, cloud), ...block }
  const config = { ...dispatchConfig({ ...redis, url, keyPrefix: name }, whole), ...more }
  const { configFile } = await writeDispatch(folder, config, users)
  return Replica.start({ ...others, name: 'dispatch', stateDir, configFile })
}
