/** Takes the picture docs/apps.png of what the demo's ada sees: login, slider, a stopped app, MLflow. */
import { parseOptions } from '../demo/options.ts'
import { arrange } from '../pictures/arrange.ts'
import { createProgress } from '../process/progress.ts'
import { withApps } from './demo.ts'
import { tell } from './story.ts'
import type { Visitor } from './visitor.ts'

/** @param file path of the picture: four steps in two rows */
export async function takeAppsPicture(file: string, signal: AbortSignal): Promise<void> {
  const pictures: Buffer[] = []
  const camera = async ({ page }: Visitor) => void pictures.push(await page.screenshot())
  const options = parseOptions(['--apps', '--once', '--json'])
  await withApps({ options, progress: createProgress(), signal, camera }, async context => {
    await tell(context)
    await arrange(context.browser, pictures, file)
  })
}
