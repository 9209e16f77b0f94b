/** Activity from one metric in Prometheus' text format. Pure. */
import { type AnswerText, newestOf, parseEpoch } from './answers.ts'
import { type CounterEvidence, growthOf, MalformedAnswer } from './evidence.ts'

/** Which samples count, and how. */
export interface MetricSelector {
  readonly name: string
  /** Values that labels of a sample must have; an empty one is that of a label that it lacks. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** `counter`: activity makes the sum of the samples grow. `timestamp`: the newest sample is the time of activity. */
  readonly as: 'counter' | 'timestamp'
}

/**
 * @param previous the reading of the look before
 * @throws {MalformedAnswer} when the metric is missing or a sample of it is unreadable
 */
export function readMetric(
  answer: AnswerText,
  selector: MetricSelector,
  previous: number | undefined,
): CounterEvidence {
  const values = selectValues(answer.body, selector)
  if (selector.as === 'counter')
    return growthOf(
      values.reduce((sum, value) => sum + value, 0),
      previous,
    )
  return newestOf(
    values.map(parseEpoch).filter(atMs => atMs !== undefined),
    answer,
  )
}

const maxSamples = 10_000

/**
 * The values of the selected samples. A metric that is declared and has no sample yet has none.
 * @throws {MalformedAnswer} when there is neither; a wrong name must not look like a lack of activity
 */
export function selectValues(text: string, { name, labels = {} }: MetricSelector): readonly number[] {
  const lines = text.split('\n')
  const found = lines.filter(line => isSampleOf(name, line))
  if (found.length > maxSamples) throw new MalformedAnswer(`its answer has more than ${maxSamples} samples of ${name}`)
  const samples = found.map(line => parseSample(line, name))
  const selected = samples.filter(sample => hasLabels(sample, labels))
  if (selected.length > 0) return selected.map(({ value }) => value)
  if (samples.length === 0 && lines.some(line => isDeclarationOf(name, line))) return []
  throw new MalformedAnswer(`its answer has no sample of ${name} with the wanted labels`)
}

interface Sample {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

const isSampleOf = (name: string, line: string): boolean =>
  line.startsWith(name) && /[{ \t]/.test(line.charAt(name.length))

/** OpenMetrics declares a counter without its ending. */
function isDeclarationOf(name: string, line: string): boolean {
  if (!line.startsWith('# TYPE ')) return false
  const [, , declared] = line.split(/[ \t]+/, 3)
  return declared === name || `${declared}_total` === name
}

/** Longer ones are not searched. */
const maxLineLength = 16_384
const opening = /[ \t]*\{/y
const label = /[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|(?=\}))/y
const closing = /[ \t]*\}/y
/** A time or an example may follow it. */
const number = /[ \t]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?)(?:[ \t]|\r?$)/y

function parseSample(line: string, name: string): Sample {
  const labels = new Map<string, string>()
  let at = name.length
  const next = (form: RegExp) => {
    form.lastIndex = at
    const match = form.exec(line)
    if (match) at = form.lastIndex
    return match
  }
  let isReadable = line.length <= maxLineLength
  if (isReadable && next(opening)) {
    for (let match = next(label); match; match = next(label)) labels.set(match[1]!, unescaped(match[2]!))
    isReadable = next(closing) !== null
  }
  const value = isReadable ? Number(next(number)?.[1] ?? Number.NaN) : Number.NaN
  if (!Number.isFinite(value)) throw new MalformedAnswer(`a sample of ${name} in its answer is unreadable`)
  return { labels, value }
}

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))

function hasLabels(sample: Sample, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => (sample.labels.get(name) ?? '') === value)
}
