/** Panels of a picture of metrics, asked for from a Prometheus. */
import type { Panel } from './draw-metrics.ts'
import type { Prometheus, Range } from './prometheus.ts'

/** A query for Prometheus, and the label that names each of its series. */
export interface PanelQuery {
  readonly title: string
  readonly expression: string
  readonly label: string
}

/** @param names other names for values of labels */
export async function askForPanel(
  { title, expression, label }: PanelQuery,
  prometheus: Pick<Prometheus, 'series'>,
  range: Range,
  names: ReadonlyMap<string, string> = new Map(),
): Promise<Panel> {
  const series = await prometheus.series(expression, label, range)
  if (series.length === 0) throw new Error(`no data for: ${title}`)
  const called = series.map(each => ({ ...each, label: names.get(each.label) ?? each.label }))
  return { title, series: called.sort((a, b) => (a.label < b.label ? -1 : 1)) }
}
