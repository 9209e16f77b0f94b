/** What the demo of containers prints, and what it demands. */
import { managementRoot, prefixes } from '../../src/api/dispatch/parts.ts'
import type { DispatchSite } from './site.ts'

/** How many containers the story has. */
export const containerCount = 12

export interface ContainerOutcome {
  readonly uuid: string
  /** The replica that was asked for it. */
  readonly asked: string
  readonly vcpus: number
  readonly type: string
  readonly machine: string
  readonly state: string
  readonly exitCode: number | null
  /** How often it began. */
  readonly runs: number
}

/** The container whose machine lost its keeper. */
export interface Orphan {
  readonly uuid: string
  readonly machine: string
  readonly killed: string
  readonly keptBy: string
  /** Whether its very process went on. */
  readonly sameProcess: boolean
}

/** A shell in it, and its HTTP port, through a replica that was not its keeper. */
export interface Inside {
  readonly asked: string
  /** Whether the one shell said which run it is in before the kill, while nobody kept the machine, and afterwards. */
  readonly shell: boolean
  /** The same of the port. */
  readonly port: boolean
  /** Whether nobody kept the machine when both had answered for the second time. */
  readonly unkept: boolean
}

export interface Facts {
  readonly containers: readonly ContainerOutcome[]
  readonly orphan: Orphan
  readonly inside: Inside
  /** Machines, by the cloud's id. */
  readonly held: string
  readonly drained: string
  /** Containers that began on the held machine, or on the drained one, after the operator's word. */
  readonly late: readonly string[]
  /** Machines at the end of the queue. */
  readonly stayed: readonly string[]
}

/** What is there after the held machine was killed, and after the demo. */
export interface Left {
  /** Whether the cloud still has the held machine. */
  readonly machine: boolean
  /** Of machines. */
  readonly processes: number
  /** Whether that of the run is there. */
  readonly folder: boolean
}

/** The one JSON object of `--json`. */
export interface DispatchReport extends Facts {
  readonly url: string
  readonly replicas: readonly { readonly name: string; readonly url: string; readonly pid: number }[]
  readonly redis: string
  /** Paths of the files with tokens. */
  readonly tokens: { readonly users: string; readonly management: string }
  /** Null while the demo is up. */
  readonly left: Left | null
  readonly seconds: {
    /** From the command to replicas that are ready. */
    readonly ready: number
    /** From the first request to a container that runs. */
    readonly firstContainer: number
    /** From the kill to another keeper. */
    readonly takeOver: number
    /** From the first request to the end of all. */
    readonly allComplete: number
    /** From the first request to a cloud with the held machine alone. */
    readonly empty: number
    /** From the kill of the held machine to its end; null while the demo is up. */
    readonly killed: number | null
  }
}

/** @throws at the first fact that is not as the story says */
export function requireFacts({ containers, orphan, inside, held, late, stayed }: Facts): void {
  const demand = (isSo: boolean, words: string) => {
    if (!isSo) throw new Error(words)
  }
  demand(containers.length === containerCount, `there are ${containers.length} containers, not ${containerCount}`)
  for (const { uuid, state, exitCode, runs } of containers) {
    demand(state === 'Complete' && exitCode === 0, `${uuid} is ${state} with the exit code ${exitCode}`)
    demand(runs === 1, `${uuid} began ${runs} times`)
  }
  demand(orphan.sameProcess, `${orphan.uuid} is no longer the process that it was before its keeper was killed`)
  demand(inside.unkept, `${orphan.machine} had a keeper again before its container was asked`)
  demand(inside.shell, `the shell in ${orphan.uuid} did not go on while its keeper was killed`)
  demand(inside.port, `the port of ${orphan.uuid} was not reached while its keeper was killed`)
  demand(late.length === 0, `after hold and drain these began there: ${late.join(' ')}`)
  demand(stayed.join() === held, `${stayed.join(' ') || 'no machine'} stayed, where ${held} is held`)
}

/** @throws where something stayed */
export function requireNothing({ machine, processes, folder }: Left): void {
  const left = [
    ...(machine ? ['the held machine'] : []),
    ...(processes > 0 ? [`${processes} processes of machines`] : []),
    ...(folder ? ['the folder of the run'] : []),
  ]
  if (left.length > 0) throw new Error(`left: ${left.join(', ')}`)
}

export function renderContainers(containers: readonly ContainerOutcome[]): string {
  const rows = [
    ['container', 'asked at', 'processors', 'ran on', 'a', 'state', 'exit code', 'runs'],
    ...containers.map(({ uuid, asked, vcpus, machine, type, state, exitCode, runs }) => [
      ...[uuid, asked, String(vcpus), machine, type, state, String(exitCode), String(runs)],
    ]),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows.map(row => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')}`.trimEnd()).join('\n')
}

export function makeReport(site: DispatchSite, facts: Facts, seconds: DispatchReport['seconds']): DispatchReport {
  return {
    url: site.replicas[0]!.url,
    replicas: site.replicas.map(({ name, url, pid }) => ({ name, url, pid })),
    redis: site.redis.url,
    tokens: site.tokenFiles,
    ...facts,
    ...{ left: null, seconds },
  }
}

/** Addresses, and commands to try, for a person. */
export function formatDispatchGuide({ url, replicas, redis, tokens, held }: DispatchReport): string {
  const [api, operators] = [`${url}${prefixes.user}`, `${url}${managementRoot}`]
  const body = `{"command": ["sh", "-c", "echo hello from $SKYLAB_CONTAINER_UUID"], "runtime_constraints": {"vcpus": 1, "ram": 1073741824}}`
  return `
REST               ${api}
For operators      ${operators}
Replicas           ${replicas.map(replica => `${replica.url} (pid ${replica.pid})`).join('\n                   ')}
Redis              ${redis}
Tokens             ${tokens.users} (ada, grace, admin)
                   ${tokens.management} (operators)

Tokens first:
  ada="Authorization: Bearer $(sed -n 's/.*token: *\\(ada-.*\\)/\\1/p' ${tokens.users})"
  operator="Authorization: Bearer $(cat ${tokens.management})"
A container, and what it printed:
  uuid=$(curl -s -H "$ada" -H 'Content-Type: application/json' ${api}/containers -d '${body}' | grep -o 'zzzzz-dz642-[0-9a-z]*' | head -1)
  curl -sN -H "$ada" "${api}/containers/$uuid/log?follow"
  curl -s -H "$ada" ${api}/containers/$uuid
The queue, and the machines:
  curl -s -H "$operator" ${operators}/containers
  curl -s -H "$operator" ${operators}/instances
The machine on hold gets containers again, and ends when it is idle:
  curl -s -H "$operator" -X POST "${operators}/instances/run?instance_id=${held}"
`
}
