/** The runner as tests run it: with failpoints, and without the rest of the program. Its bundle starts in 60 ms. */
import '../failpoints/failpoints.ts'
import { runRunner } from '../../../src/runner/command.ts'

const { env, stdin: input, stdout: output } = process
const code = await runRunner(process.argv.slice(3), {
  ...{ env, input, output, version: 'test' },
  out: text => void process.stdout.write(text),
  err: text => void process.stderr.write(text),
})
process.exit(code)
