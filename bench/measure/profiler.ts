/**
 * Loaded before a program to profile its processor time (`node --import …/profiler.ts?folder=…`): SIGUSR2 starts a CPU
 * profile, the next one ends it and writes it into the folder. `cpuMs` in the file is the processor time meanwhile, by
 * the kernel's count: of all threads but the profiler's own, and of the profiled one.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'

const folder = new URL(import.meta.url).searchParams.get('folder')!
const name = process.env.SKYLAB_REPLICA ?? process.argv[1]!.replace(/^.*\/|\.ts$/g, '')
const tasks = '/proc/self/task'
/** V8's thread that takes the samples. */
const profilerThread = 'v8:ProfEvntProc'
const session = new Session()
session.connect()
session.post('Profiler.enable')

let running = false
let count = 0
let before = usedMs()

process.on('SIGUSR2', () => {
  running = !running
  if (running) {
    session.post('Profiler.start')
    before = usedMs()
    return
  }
  const after = usedMs()
  const cpuMs = { all: after.all - before.all, main: after.main - before.main }
  session.post('Profiler.stop', (error, result) => {
    count += 1
    if (!error) writeFileSync(join(folder, `${name}.${count}.cpuprofile`), JSON.stringify({ ...result.profile, cpuMs }))
  })
})

function usedMs(): { all: number; main: number } {
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()]
  return { all: (all.user + all.system) / 1000 - ofProfilerMs(), main: (main.user + main.system) / 1000 }
}

function ofProfilerMs(): number {
  const read = (task: string, file: string) => readFileSync(join(tasks, task, file), 'utf8')
  const task = readdirSync(tasks).find(each => read(each, 'comm').trim() === profilerThread)
  return task === undefined ? 0 : Number(read(task, 'schedstat').split(' ')[0]) / 1e6
}
