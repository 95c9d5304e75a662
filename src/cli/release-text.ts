import type { Released } from '../api/activities.js'
import { paint } from './paint.js'
import { paragraphs } from './paragraphs.js'
import { poolLines } from './progress-text.js'

/** What release did and found, for a terminal. */
export function releaseText(cluster: string, released: Released): string {
  const { givenBack, leftCordoned, state, unhealthy } = released
  return paragraphs(
    [
      paint(state === 'Alert' ? 'yellow' : 'green', `${cluster}: released; the cluster is ${state}`),
      ...unhealthy.map((why) => paint('yellow', `because ${why}`)),
    ],
    [
      ...givenBack.map((node) => `given back ${node}`),
      ...leftCordoned.map((one) => paint('yellow', `left cordoned ${one.name}: ${one.why}`)),
    ],
    poolLines(released.pools),
    released.lastError === null ? [] : [`last error: ${released.lastError}`],
  ).join('\n')
}
