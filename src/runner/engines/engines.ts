/** The engine of a run, by its name. */
import { ContainerEngine } from './container.ts'
import type { Engine, EngineContext } from './engine.ts'
import { ProcessEngine } from './process.ts'

export const engineOf = (context: EngineContext): Engine =>
  context.engine === 'process' ? new ProcessEngine(context) : new ContainerEngine(context)
