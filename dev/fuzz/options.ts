/** The command line of `npm run fuzz`. */
import { parseArgs } from 'node:util'
import { UsageError } from '../process/program.ts'

export const usage = `usage: npm run fuzz -- [OPTIONS]

  --tenants           the API of tenants, with three people, instead of that of labs
  --apps              the API of apps, with members and strangers of a group
  --dispatch          the API of containers, and that of operators
  --idle              the routes of activity, with labs of half of the users
  --minutes N         how long requests are made up (default 1; parts of a minute may be given)
  --seed N            with this seed, as the line of an earlier run has it
  --replicas N        replicas of the controller, behind a balancer (default 3)
  --users N           users with tokens and labs, besides the administrator (default 20)
`

export interface FuzzOptions {
  readonly tenants: boolean
  readonly apps: boolean
  readonly dispatch: boolean
  readonly idle: boolean
  readonly seconds: number
  readonly seed: number | undefined
  readonly replicas: number
  readonly users: number
}

/** @throws {UsageError} */
export function parseFuzzOptions(args: readonly string[]): FuzzOptions {
  const { tenants, apps, dispatch, idle, minutes, seed, replicas, users } = parse(args)
  const seconds = Math.round(Number(minutes) * 60)
  if (!(seconds >= 1 && seconds <= 86_400)) throw new UsageError(`--minutes: must be more than 0, not ${minutes}`)
  if (tenants && idle) throw new UsageError('--idle: a process that serves tenants has no labs')
  if (apps && (tenants || idle)) throw new UsageError('--apps: a process that serves apps has neither labs nor tenants')
  if (dispatch && (tenants || apps || idle))
    throw new UsageError('--dispatch: a process for containers has nothing else')
  if (tenants && users !== undefined) throw new UsageError('--users: tenants have three people')
  return {
    tenants,
    apps,
    dispatch,
    idle,
    seconds,
    seed: seed === undefined ? undefined : whole('seed', seed, 0),
    replicas: whole('replicas', replicas, 1),
    users: whole('users', users ?? (tenants ? '3' : '20'), 2),
  }
}

function parse(args: readonly string[]) {
  const text = (value: string) => ({ type: 'string', default: value }) as const
  const options = {
    tenants: { type: 'boolean', default: false },
    apps: { type: 'boolean', default: false },
    dispatch: { type: 'boolean', default: false },
    idle: { type: 'boolean', default: false },
    minutes: text('1'),
    seed: { type: 'string' },
    replicas: text('3'),
    users: { type: 'string' },
  } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function whole(name: string, value: string, least: number): number {
  if (/^\d{1,10}$/.test(value) && Number(value) >= least) return Number(value)
  throw new UsageError(`--${name}: must be a whole number from ${least}, not ${value}`)
}
