/** Containers that wait for a word of the demo, so that there is time to look, and say who they are before and after. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startTimeOf } from '../process/process.ts'

/** Tells the pid in its argument, at a port that it writes down. */
const server = `const { renameSync, writeFileSync } = require('node:fs')
const server = require('node:http').createServer((_, answer) => answer.end(process.argv[2]))
server.listen(0, '127.0.0.1', () => {
  writeFileSync('port.new', String(server.address().port))
  renameSync('port.new', 'port')
})
`

export class Patient {
  readonly #folder: string

  /** @param name a folder of its own below that of the run */
  constructor(stateDir: string, name: string) {
    this.#folder = join(stateDir, name)
    mkdirSync(this.#folder)
    writeFileSync(join(this.#folder, 'server.cjs'), server)
  }

  /** It ends by itself once its folder is gone, whatever became of the demo. */
  get command(): readonly string[] {
    const script = [
      'echo $$ >> pids; echo "$$ waits for a word"',
      `'${process.execPath}' server.cjs $$ & listener=$!`,
      'until [ -e go ] || [ ! -e pids ]; do sleep 0.1; done',
      'kill $listener',
      'echo $$ >> pids; echo "$$ has got it"',
    ]
    return ['sh', '-c', `cd ${this.#folder} && { ${script.join('; ')}; }`]
  }

  letGo(): void {
    writeFileSync(join(this.#folder, 'go'), '')
  }

  /** What each run wrote as it began, and as it ended: twice the same for one run that was never interrupted. */
  pids(): readonly number[] {
    const file = join(this.#folder, 'pids')
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []
  }

  /** Where its program listens; null before it does. */
  port(): number | null {
    const file = join(this.#folder, 'port')
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : null
  }

  /** Its process, which no other one can be; null without one. */
  identity(): string | null {
    const [pid] = this.pids()
    const began = pid === undefined ? null : startTimeOf(pid)
    return began === null ? null : `${pid} ${began}`
  }
}
