/** One figure a line, for people and machines (`npm run bench`). */
export function figure(bench: string, metric: string, value: number, unit: string): void {
  console.log(JSON.stringify({ bench, metric, value: Math.round(value * 1000) / 1000, unit }))
}
