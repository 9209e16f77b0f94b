/** A program for machines, of which one in a fleet is a liar, and the others are honest. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * - `epoch`: it has heard the highest number that there is, and proves itself by its secret;
 * - `tomorrow`: the same, with an epoch two days beyond the clock;
 * - `inventions`: it lists runs of others, with owners that it made up, one with a true warrant under a later run, and tells
 *   the ends of runs that it never had.
 */
export type Lie = 'epoch' | 'tomorrow' | 'inventions'

/**
 * Writes its program. The files beside it: `diary` has what it did; while `lying` exists, the next machine is the liar; `victim`
 * has a container of another machine.
 * @param runner the honest one, as built
 * @returns for `DeployRunnerBinary`
 */
export function writeLiar(stateDir: string, runner: string, lie: Lie): string {
  const [program, diary, lying, victim] = ['liar', 'diary', 'lying', 'victim'].map(name => join(stateDir, name)) as [
    ...[string, string, string, string],
  ]
  for (const file of [diary, victim]) writeFileSync(file, '')
  writeFileSync(program, source({ runner, diary, lying, lie, victim }), { mode: 0o755 })
  return program
}

const source = (of: { runner: string; diary: string; lying: string; lie: Lie; victim: string }): string =>
  `#!${process.execPath}
const of = ${JSON.stringify(of)}
const { spawn } = require('node:child_process')
const fs = require('node:fs')
const own = process.env.SKYLAB_RUNNER_DIR + '/../is-liar'
let isLiar = fs.existsSync(own)
if (!isLiar && fs.existsSync(of.lying)) {
  try {
    fs.renameSync(of.lying, own)
    isLiar = true
  } catch {}
}
const secret = () => fs.readFileSync(process.env.SKYLAB_INSTANCE_SECRET_FILE, 'utf8').trim()
const say = word => process.stdout.write(JSON.stringify(word) + '\\n')
const note = what => fs.appendFileSync(of.diary, what + '\\n')
if (!isLiar) {
  spawn(process.execPath, [of.runner, ...process.argv.slice(2)], { stdio: 'inherit' }).on('exit', code => process.exit(code ?? 1))
} else {
  const { uuid, run } = JSON.parse(fs.readFileSync(of.victim, 'utf8') || '{}')
  let known
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => hear(JSON.parse(line)))
  function hear(asked) {
    if (asked.type === 'hello' && of.lie !== 'inventions') {
      const highest = of.lie === 'epoch' ? Number.MAX_SAFE_INTEGER : Date.now() * 1000 + 2 * 86400e6
      note('hello')
      say({ type: 'refused', why: 'epoch', message: 'a higher epoch was here', highest, secret: secret() })
    } else if (asked.type === 'hello') {
      say({ type: 'welcome', epoch: asked.epoch, version: '1', highestRun: Number.MAX_SAFE_INTEGER })
    } else if (asked.type === 'list') {
      const spec = { command: ['true'], image: 'a', environment: {}, cwd: '/', mounts: {}, vcpus: 1, ramBytes: 1, maxRunSeconds: 0 }
      const runtime_constraints = { vcpus: 1, ram: 1, gpus: 0 }
      const scheduling_parameters = { preemptible: false, supervisor: false, max_run_time: 0 }
      const view = { owner: 'root', command: ['true'], container_image: 'a', environment: {}, cwd: '/', mounts: {} }
      const need = { vcpus: 1, ramBytes: 1, scratchBytes: 0, gpus: 0, preemptible: false }
      const about = Buffer.from(JSON.stringify({
        view: { ...view, runtime_constraints, scheduling_parameters, container_count_max: 3 },
        shape: { need, tenant: 'default', supervisor: false }, priority: 500,
      })).toString('base64url')
      const invented = { run: 7, owner: 'root', spec, state: 'running', startedMs: 1, seq: 2, seal: about + '.00' }
      const runs = [
        { ...invented, uuid: 'zzzzz-dz642-000000000invent' },
        { ...invented, uuid: uuid ?? 'zzzzz-dz642-00000000000more', run: Date.now() * 1000 + 3600e6 },
        { ...invented, uuid: 'zzzzz-dz642-0000000tomorrow', run: Number.MAX_SAFE_INTEGER },
      ]
      if (known) runs.push({ ...known, state: 'running', startedMs: 1, seq: 2, run: Date.now() * 1000 + 2 * 86400e6 })
      say({ type: 'listed', id: asked.id, runs })
      note('list')
      for (const each of [[uuid, run], ['zzzzz-dz642-000000000invent', 7]]) {
        if (!each[0]) continue
        const at = { type: 'entry', uuid: each[0], run: each[1] }
        say({ ...at, seq: 1, entry: { kind: 'output', atMs: 1, stream: 'stdout', base64: 'bGllcw==' } })
        say({ ...at, seq: 2, entry: { kind: 'ended', atMs: 1, end: { exitCode: 0 } } })
      }
      note('entries')
    } else if (asked.type === 'start') {
      // It remembers the warrant, says that it began, and the next connection shows it under a run of tomorrow.
      const { type, id, ...warrant } = asked
      known = warrant
      note('start')
      say({ type: 'refused', id, why: 'broken', message: 'not today', highest: 0, secret: secret() })
    } else if (asked.type === 'kill') {
      note('kill ' + asked.uuid)
      say({ type: 'refused', id: asked.id, why: 'unknown', message: 'no such run', highest: 0, secret: secret() })
    }
  }
}
`
