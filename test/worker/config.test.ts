import { describe, expect, it } from 'vitest'
import { type WorkerSources, workerConfig } from '../../src/worker/config.js'

const FOLDER = '/nonexistent'

function config(env: Record<string, string>, options: WorkerSources['options'] = {}) {
  return workerConfig({ options, env, folder: FOLDER })
}

describe('the settings of a worker', () => {
  it('needs none', () => {
    expect(config({})).toMatchObject({
      ok: true,
      value: {
        connection: { address: { value: '127.0.0.1:7233' }, taskQueue: { value: 'noderoll' } },
        logLevel: 'INFO',
        healthPort: null,
        metricsAddress: null,
        workflowBundle: null,
        activitiesPerSecond: null,
      },
    })
  })

  it('takes its own from variables, in any case and with empty ones left out', () => {
    expect(
      config({
        NODEROLL_LOG_LEVEL: 'debug',
        NODEROLL_HEALTH_PORT: '8080',
        NODEROLL_METRICS_ADDRESS: '[::]:9464',
        NODEROLL_WORKFLOW_BUNDLE: '',
      }),
    ).toMatchObject({
      ok: true,
      value: { logLevel: 'DEBUG', healthPort: 8080, metricsAddress: '[::]:9464', workflowBundle: null },
    })
  })

  it('takes the pace of the task queue from the command line before the variable', () => {
    const env = { NODEROLL_ACTIVITIES_PER_SECOND: '20' }

    expect(config(env)).toMatchObject({ ok: true, value: { activitiesPerSecond: 20 } })
    expect(config(env, { activitiesPerSecond: '2.5' })).toMatchObject({
      ok: true,
      value: {
        activitiesPerSecond: 2.5,
        described: expect.arrayContaining([
          { name: 'activities per second', value: '2.5', from: 'command line' },
        ]),
      },
    })
  })

  it.each(['0', '0.5', '-1', 'many', '1e3', ''])('does not work at %j activities a second', (given) => {
    expect(config({}, { activitiesPerSecond: given })).toMatchObject({
      ok: false,
      problems: [{ where: '--activities-per-second', fix: 'write a number, 1 or more' }],
    })
  })

  it('CKS-24 knows its place in a cluster when it is told all of it, and asks for the rest when told half', () => {
    const all = {
      NODEROLL_NODE_NAME: 'w-1',
      NODEROLL_POD_NAMESPACE: 'noderoll',
      NODEROLL_POD_NAME: 'worker-0',
    }

    expect(config({})).toMatchObject({ ok: true, value: { place: null } })
    expect(config(all)).toMatchObject({
      ok: true,
      value: { place: { node: 'w-1', namespace: 'noderoll', pod: 'worker-0' } },
    })
    expect(config({ ...all, NODEROLL_POD_NAME: '' })).toMatchObject({
      ok: false,
      problems: [
        { where: 'NODEROLL_POD_NAME', fix: "set it from the pod's metadata.name by the downward API" },
      ],
    })
  })

  it('says how Azure is reached, and where that comes from', () => {
    const env = { NODEROLL_AZURE_REQUESTS_PER_SECOND: '2.5' }

    expect(config(env)).toMatchObject({
      ok: true,
      value: {
        described: expect.arrayContaining([
          { name: 'Azure endpoint', value: 'https://management.azure.com', from: 'default' },
          {
            name: 'Azure requests per second',
            value: '2.5',
            from: 'NODEROLL_AZURE_REQUESTS_PER_SECOND',
          },
        ]),
      },
    })
  })

  it('names every mistake at once, those of the connection too', () => {
    const checked = config({
      TEMPORAL_TLS: 'TRUE',
      NODEROLL_LOG_LEVEL: 'loud',
      NODEROLL_HEALTH_PORT: '99999',
      NODEROLL_METRICS_ADDRESS: 'localhost:9464',
      NODEROLL_WORKFLOW_BUNDLE: '/nonexistent/workflows.js',
      NODEROLL_ACTIVITIES_PER_SECOND: '0',
      NODEROLL_AZURE_ENDPOINT: 'http://management.azure.com',
      NODEROLL_AZURE_SCOPE: 'https://management.azure.com',
      NODEROLL_AZURE_CA_FILE: '/nonexistent/ca.pem',
      NODEROLL_AZURE_REQUESTS_PER_SECOND: '2,5',
    })

    expect(checked.ok ? [] : checked.problems.map((problem) => problem.where)).toEqual([
      'TEMPORAL_TLS',
      'NODEROLL_LOG_LEVEL',
      'NODEROLL_HEALTH_PORT',
      'NODEROLL_METRICS_ADDRESS',
      'NODEROLL_WORKFLOW_BUNDLE',
      'NODEROLL_ACTIVITIES_PER_SECOND',
      'NODEROLL_AZURE_ENDPOINT',
      'NODEROLL_AZURE_SCOPE',
      'NODEROLL_AZURE_CA_FILE',
      'NODEROLL_AZURE_REQUESTS_PER_SECOND',
    ])
  })
})
