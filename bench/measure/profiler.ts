/**
 * Loaded before a program to profile its processor time (`node --import …/profiler.ts?folder=…`): SIGUSR2 starts a CPU
 * profile, the next one ends it and writes it into the folder.
 */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'

const folder = new URL(import.meta.url).searchParams.get('folder')!
const name = process.env.SKYLAB_REPLICA ?? process.argv[1]!.replace(/^.*\/|\.ts$/g, '')
const session = new Session()
session.connect()
session.post('Profiler.enable')

let running = false
let count = 0

process.on('SIGUSR2', () => {
  running = !running
  if (running) return session.post('Profiler.start')
  session.post('Profiler.stop', (error, result) => {
    count += 1
    if (!error) writeFileSync(join(folder, `${name}.${count}.cpuprofile`), JSON.stringify(result.profile))
  })
})
