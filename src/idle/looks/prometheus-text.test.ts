import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MalformedAnswer } from './evidence.ts'
import { type MetricSelector, readMetric, selectValues } from './prometheus-text.ts'

const date = 'Thu, 14 Aug 2025 03:25:26 GMT'
const nowSeconds = Date.parse(date) / 1000
const text = `# HELP istio_requests_total Requests "since" start
# TYPE istio_requests_total counter
istio_requests_total{reporter="destination",path="/a,b}",} 3
istio_requests_total{reporter="source", path="say \\"hi\\" \\\\ \\n"} 4 1755141926000
istio_requests_total { reporter = "destination" } 5.5e1 # {trace_id="x"} 1
istio_requests_total_created{reporter="destination"} 99
plain 1
plain\t2\r
# TYPE later_requests counter
other{ broken
# EOF`
const counter = (name: string, labels?: Record<string, string>): MetricSelector => ({ name, labels, as: 'counter' })

describe('selectValues', () => {
  test.each<[MetricSelector, number[]]>([
    [counter('istio_requests_total'), [3, 4, 55]],
    [counter('istio_requests_total', { reporter: 'destination' }), [3, 55]],
    [counter('istio_requests_total', { reporter: 'destination', path: '/a,b}' }), [3]],
    [counter('istio_requests_total', { path: 'say "hi" \\ \n' }), [4]],
    [counter('istio_requests_total', { path: '' }), [55]],
    [counter('plain'), [1, 2]],
    [counter('later_requests_total'), []],
    [counter('later_requests'), []],
  ])('selects by %j', (selector, values) => {
    expect(selectValues(text, selector)).toEqual(values)
  })

  test.each([
    counter('istio_requests'),
    counter('missing'),
    counter('istio_requests_total', { reporter: 'other' }),
    counter('plain', { any: 'x' }),
  ])('refuses a metric that is not there: %j', selector => {
    expect(() => selectValues(text, selector)).toThrow(`its answer has no sample of ${selector.name}`)
  })

  test.each([
    'a{',
    'a{x}',
    'a{x="1" 2',
    'a{x="1"y="2"} 3',
    'a{x="1\\"} 3',
    'a{x=1} 2',
    'a ',
    'a x',
    'a 0x10',
    'a 1 2\na NaN',
    'a +Inf',
    'a 1e9999',
    'a 1_0',
    `a{x="${'y'.repeat(20_000)}"} 1`,
  ])('refuses a sample that it cannot read: %#', line => {
    expect(() => selectValues(line, counter('a'))).toThrow(
      new MalformedAnswer('a sample of a in its answer is unreadable'),
    )
  })

  test('refuses more than 10,000 samples of one metric', () => {
    expect(selectValues('a 1\n'.repeat(10_000), counter('a')).length).toBe(10_000)
    const words = 'its answer has more than 10000 samples of a'
    expect(() => selectValues('a 1\n'.repeat(10_001), counter('a'))).toThrow(new MalformedAnswer(words))
  })

  test('reads what a client writes', () => {
    const name = fc.constantFrom('a', 'b', 'a_total')
    const labels = fc.dictionary(fc.constantFrom('x', 'y', '_z9'), fc.string({ unit: 'grapheme' }))
    const sample = fc.record({ name, labels, value: fc.double({ noNaN: true, noDefaultInfinity: true }) })
    const escaped = (value: string) => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1 }), samples => {
        const body = samples
          .map(each => {
            const pairs = Object.entries(each.labels).map(([label, value]) => `${label}="${escaped(value)}"`)
            return `${each.name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${each.value}`
          })
          .join('\n')
        const [first] = samples
        const alike = samples.filter(({ name, labels }) => {
          const { name: wanted, labels: some } = first!
          return name === wanted && Object.entries(some).every(([label, value]) => (labels[label] ?? '') === value)
        })
        const found = selectValues(body, counter(first!.name, first!.labels))
        // As numbers, -0 and 0 are the same.
        expect(found.map(value => value + 0)).toEqual(alike.map(({ value }) => value + 0))
      }),
    )
  })

  test('throws nothing but MalformedAnswer, whatever the text', () => {
    const hostile = fc
      .array(fc.constantFrom('a', '{', '}', '"', '\\', '=', ',', ' ', '\n', '1', 'é', '# TYPE a'))
      .map(all => all.join(''))
    fc.assert(
      fc.property(hostile, body => {
        try {
          expect(selectValues(body, counter('a')).every(Number.isFinite)).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedAnswer)
        }
      }),
    )
  })
})

describe('readMetric', () => {
  const read = (body: string, as: MetricSelector['as'], previous?: number, header = date) =>
    readMetric({ body, date: header }, { name: 'a', as }, previous)

  test('compares the sum of a counter with the reading before', () => {
    expect(read('a{x="1"} 3\na{x="2"} 4', 'counter', undefined, '')).toEqual({
      busy: false,
      ageMs: undefined,
      reading: 7,
    })
    expect(read('a{x="1"} 3\na{x="2"} 5', 'counter', 7, '')).toEqual({ busy: false, ageMs: 0, reading: 8 })
    expect(read('a 8', 'counter', 8)).toEqual({ busy: false, ageMs: undefined, reading: 8 })
    expect(read('a 1', 'counter', 8)).toEqual({ busy: false, ageMs: undefined, reading: 1 })
  })

  test('reads a declared counter without samples as 0', () => {
    expect(read('# TYPE a counter\n', 'counter')).toEqual({ busy: false, ageMs: undefined, reading: 0 })
  })

  test('takes the newest of several timestamps', () => {
    expect(read(`a{x="1"} ${nowSeconds - 10}\na{x="2"} ${nowSeconds - 5}\na{x="3"} 0`, 'timestamp')).toEqual({
      busy: false,
      ageMs: 5000,
    })
    expect(read('a 0', 'timestamp')).toEqual({ busy: false, ageMs: undefined })
  })

  test('refuses a negative counter and a negative timestamp', () => {
    expect(() => read('a -1', 'counter')).toThrow(MalformedAnswer)
    expect(() => read('a -1', 'timestamp')).toThrow(MalformedAnswer)
  })

  test.each<[string, string]>([
    ['empty lines', '\n'.repeat(1024 * 1024)],
    ['samples', 'a 1\n'.repeat(256 * 1024)],
    ['labels', `a{${'x="",'.repeat(3000)} 1\n`.repeat(60)],
    ['open quotes', `a{x="${'\\"'.repeat(8000)}\n`.repeat(60)],
    ['spaces', `a${' '.repeat(16_000)}x\n`.repeat(60)],
  ])('reads a megabyte of %s with a second of a processor at most', (_, body) => {
    // However long it waits for one.
    const begun = process.threadCpuUsage()
    try {
      read(body, 'counter')
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedAnswer)
    }
    const { user, system } = process.threadCpuUsage(begun)
    expect((user + system) / 1000).toBeLessThan(1000)
  })
})
