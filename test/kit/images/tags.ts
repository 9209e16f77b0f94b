/** As many tags as a repository has after some years, by the convention of SQR-059. */

/** Weeklies back from one, the newest first, as if every year had 52 weeks. */
export function weekliesFrom(year: number, week: number, count: number): string[] {
  return Array.from({ length: count }, (_, back) => {
    const number = year * 52 + week - 1 - back
    return `w_${Math.floor(number / 52)}_${String((number % 52) + 1).padStart(2, '0')}`
  })
}

const dayMs = 86_400_000

/** Dailies back from a day, such as 2026-11-20, the newest first. */
export function dailiesFrom(day: string, count: number): string[] {
  return Array.from({ length: count }, (_, back) => {
    const date = new Date(Date.parse(day) - back * dayMs).toISOString().slice(0, 10)
    return `d_${date.replaceAll('-', '_')}`
  })
}
