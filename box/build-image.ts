import { controllerImage } from './image/controller.ts'
import { runProgram } from './program.ts'
import { createProgress } from './progress.ts'
import { setup } from './setup.ts'

// The controller's image without pulling anything:  npm run image
// Prints one line of JSON: where it is, as an OCI layout, how large, and how long it took.

await runProgram(async signal => {
  const progress = createProgress()
  await setup(['image', 'builder'], progress, signal)
  const image = await controllerImage(progress, signal)
  progress.summary()
  process.stdout.write(`${JSON.stringify(image)}\n`)
  return 0
})
