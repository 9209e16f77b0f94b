/** Runs Debian's Prometheus on loopback, scraping replicas in short intervals, to draw the results. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../process/ports.ts'
import { stopProcess } from '../process/process.ts'
import { startServer } from '../process/server.ts'
import type { Series } from './draw-metrics.ts'

export interface PrometheusOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  /** Path of prometheus. */
  readonly program: string
  /** `host:port` of each replica. */
  readonly targets: readonly string[]
  readonly signal?: AbortSignal | undefined
}

export interface Range {
  /** Milliseconds since the epoch. */
  readonly beginMs: number
  readonly endMs: number
}

const scrapeMs = 500

interface Answer {
  readonly data: {
    readonly result: readonly {
      readonly metric: Record<string, string>
      readonly values: readonly [number, string][]
    }[]
  }
}

export class Prometheus {
  readonly #url: string
  readonly #stateDir: string

  private constructor(url: string, stateDir: string) {
    this.#url = url
    this.#stateDir = stateDir
  }

  /** Resolves when it has scraped every target. */
  static async start({ stateDir, program, targets, signal }: PrometheusOptions): Promise<Prometheus> {
    const port = await freePort()
    const file = join(stateDir, 'prometheus.json')
    const interval = `${scrapeMs}ms`
    const jobs = [{ job_name: 'skylab', static_configs: [{ targets }] }]
    // Prometheus reads YAML, and JSON is YAML.
    const global = { scrape_interval: interval, scrape_timeout: interval }
    await writeFile(file, JSON.stringify({ global, scrape_configs: jobs }))
    const args = [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(stateDir, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, stateDir)
    const answers = async () => (await prometheus.#up()) === targets.length
    const spec = { name: 'prometheus', command: program, args, stateDir }
    await startServer(spec, { answers, limitMs: 30_000, signal })
    return prometheus
  }

  /** The series of an expression, each named by one of its labels, or by `label` itself when it lacks that label. */
  async series(expression: string, label: string, { beginMs, endMs }: Range): Promise<Series[]> {
    const times = { start: String(beginMs / 1000), end: String(endMs / 1000), step: String(scrapeMs / 1000) }
    const answer = await this.#ask('query_range', { query: expression, ...times })
    return answer.data.result.map(({ metric, values }) => ({
      label: metric[label] ?? label,
      points: values
        .map(([time, value]) => [time - beginMs / 1000, Number(value)] as const)
        .filter(([, value]) => Number.isFinite(value)),
    }))
  }

  stop(): Promise<void> {
    return stopProcess(this.#stateDir, 'prometheus', 5000)
  }

  async #up(): Promise<number> {
    const answer = (await this.#ask('query', { query: 'sum(up)' })) as unknown as {
      data: { result: { value: [number, string] }[] }
    }
    return Number(answer.data.result[0]?.value[1] ?? 0)
  }

  async #ask(path: string, parameters: Record<string, string>): Promise<Answer> {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    if (!response.ok) throw new Error(`prometheus: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
}
