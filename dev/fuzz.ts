// Sends generated requests, made from the API's own document, to a running stack:  npm run fuzz -- --help
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setupAppScene } from './fuzz/apps.ts'
import { setupDispatchScene } from './fuzz/dispatch.ts'
import { setupIdleScene } from './fuzz/idle.ts'
import { setupLabs } from './fuzz/labs.ts'
import { type FuzzOptions, parseFuzzOptions, usage } from './fuzz/options.ts'
import type { Scene, SetupScene } from './fuzz/scene.ts'
import { setupTenantScene } from './fuzz/tenants.ts'
import { type Verdict, verdictOf } from './fuzz/verdict.ts'
import { runCommand } from './process/program.ts'
import { createProgress, type Progress } from './process/progress.ts'
import { openRun } from './run/run.ts'
import { pythonProgram } from './setup/python.ts'
import { setup } from './setup/setup.ts'

const ours = fileURLToPath(new URL('fuzz', import.meta.url))
const kept = fileURLToPath(new URL('../.artefacts/fuzz', import.meta.url))

async function fuzz(options: FuzzOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  await setup(['python'], progress, signal)
  const requirements = join(ours, 'requirements.txt')
  const program = await pythonProgram({ name: 'schemathesis', requirements, progress, signal })
  const start = await sceneOf(options)(progress, signal)
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const scene = await start({ ...options, stateDir, progress, signal })
    try {
      const code = await makeUp({ program, options, scene, stateDir, progress, signal })
      const verdict = await judge(scene, stateDir, code)
      process.stdout.write(
        `RESULT ${JSON.stringify({ fuzz: 'schemathesis', ...options, exit_code: code, ...verdict })}\n`,
      )
      return verdict.ok ? 0 : 1
    } finally {
      await Promise.all(scene.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

function sceneOf({ tenants, apps, dispatch, idle }: FuzzOptions): SetupScene {
  if (dispatch) return setupDispatchScene
  if (apps) return setupAppScene
  if (tenants) return setupTenantScene
  return idle ? setupIdleScene : setupLabs
}

interface MakingUp {
  readonly program: string
  readonly options: FuzzOptions
  readonly scene: Scene
  readonly stateDir: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Runs Schemathesis: its output goes to stderr, its reports to the folder of artefacts. Returns its exit code. */
async function makeUp({ program, options, scene, stateDir, progress, signal }: MakingUp): Promise<number> {
  mkdirSync(kept, { recursive: true })
  // Sequences follow links of the document, which a part of the paths may lack.
  const phases = `examples,coverage,fuzzing${scene.paths === undefined ? ',stateful' : ''}`
  const people = join(stateDir, 'people.json')
  writeFileSync(people, JSON.stringify(scene.people), { mode: 0o600 })
  const args = [
    ...['--config-file', join(ours, 'schemathesis.toml'), '--no-color'],
    ...['run', scene.document, '--request-timeout', String(scene.timeoutSeconds)],
    ...['--checks', 'all', '--phases', phases, '--max-time', String(options.seconds)],
    ...['--report', 'json,ndjson', '--report-dir', kept, '--generation-database', 'none'],
    ...(scene.paths === undefined ? [] : ['--include-path-regex', scene.paths]),
    ...(options.seed === undefined ? [] : ['--seed', String(options.seed)]),
  ]
  return progress.part(`generated requests for ${options.seconds} s`, async () => {
    const child = spawn(program, args, {
      cwd: stateDir,
      env: { ...process.env, SCHEMATHESIS_HOOKS: join(ours, 'hooks.py'), SKYLAB_FUZZ_PEOPLE: people },
      stdio: ['ignore', 2, 2],
      signal,
    })
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 1
  })
}

async function judge({ replicas }: Scene, stateDir: string, code: number): Promise<Verdict> {
  const told = replicas.map(async ({ name, monitoringUrl }) => ({
    metrics: await (await fetch(`${monitoringUrl}/metrics`)).text(),
    log: readFileSync(join(stateDir, 'log', `${name}.log`), 'utf8'),
  }))
  return verdictOf(code, await Promise.all(told))
}

await runCommand({ usage, parse: parseFuzzOptions, run: fuzz })
