import { join } from 'node:path'
import { type CommandOptions, run } from '../process/command.ts'
import type { Tools } from '../setup/setup.ts'

export type Kubectl = (
  args: string[],
  options?: Pick<CommandOptions, 'input' | 'signal' | 'timeoutMs'>,
) => Promise<string>

/** kubectl with one kubeconfig. Its discovery cache goes to the state folder instead of the user's home. */
export function createKubectl(tools: Tools, kubeconfig: string, stateDir: string): Kubectl {
  const program = tools.program('kubectl')
  const env = { ...process.env, KUBECACHEDIR: join(stateDir, 'kubectl') }
  return (args, options) => run(program, ['--kubeconfig', kubeconfig, ...args], { ...options, env })
}
