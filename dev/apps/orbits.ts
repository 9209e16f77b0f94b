/** The page of Streamlit as a person uses it: a slider, and a sentence that follows it. */
import { waitUntil } from '../process/api-client.ts'
import type { Visitor } from './visitor.ts'

const limitMs = 60_000
/** The time in which an open page answers a key. */
const answerMs = 2_000

/** What `dev/apps/objects/orbits.yaml` computes of an eccentricity. */
export const timesAsFar = (eccentricity: number): string => ((1 + eccentricity) / (1 - eccentricity)).toFixed(2)

const sentence = (eccentricity: number) => `the planet is ${timesAsFar(eccentricity)} times as far`

/** Waits until the sentence is there. */
export const seesOrbit = (visitor: Visitor, eccentricity: number): Promise<void> => visitor.sees(sentence(eccentricity))

const eccentricityOf = async ({ page }: Visitor) => Number(await page.getByRole('slider').inputValue())

/**
 * Moves the slider by one step, until the app has computed another sentence: while its WebSocket is away, a page loses what
 * is done in it.
 * @returns the eccentricity at the end
 */
export async function moveSlider(visitor: Visitor, signal: AbortSignal): Promise<number> {
  const { page } = visitor
  const slider = page.getByRole('slider')
  await slider.waitFor()
  const before = await page.getByText(/times as far/).textContent()
  const move = async () => {
    await slider.focus({ timeout: answerMs })
    await page.keyboard.press((await eccentricityOf(visitor)) < 0.7 ? 'ArrowRight' : 'ArrowLeft')
    const now = page.getByText(sentence(await eccentricityOf(visitor)))
    return (await now.textContent({ timeout: answerMs })) !== before
  }
  await waitUntil(move, { what: 'an answer to the slider', limitMs, signal })
  return eccentricityOf(visitor)
}
