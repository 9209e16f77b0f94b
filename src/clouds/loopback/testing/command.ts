/** Loopback machines without the whole program around them: a third of its time to start. */
export const machineCommand: readonly string[] = [
  process.execPath,
  '--input-type=module',
  '--eval',
  `import { runMachine } from ${JSON.stringify(new URL('../machine.ts', import.meta.url).href)}; await runMachine(process.argv[1])`,
]
