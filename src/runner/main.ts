/** The runner as machines get it: one file, which the Node beside it runs. It starts in a third of the program's time. */
import packageJson from '../../package.json' with { type: 'json' }
import { runnerUsage, runRunner } from './command.ts'

const { version } = packageJson
const out = (text: string) => void process.stdout.write(text)
const err = (text: string) => void process.stderr.write(text)

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (command === '--version') out(`skylab ${version}\n`)
  else if (command === 'runner') {
    const { env, stdin: input, stdout: output } = process
    return runRunner(args, { env, version, input, output, out, err })
  } else err(runnerUsage)
  return command === '--version' ? 0 : 2
}

// The other side may leave its channel open.
main(process.argv.slice(2)).then(code => process.exit(code))
