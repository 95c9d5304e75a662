// Who may import whom, type imports included. ARCHITECTURE.md has the same table in words.

/** Every folder of src, with what it may import besides itself. `packages`: null is any package and any part of Node. */
const LAYERS = {
  core: { layers: [], packages: [] },
  api: { layers: ['core'], packages: ['@temporalio/workflow', '@temporalio/common'] },
  workflows: { layers: ['core', 'api'], packages: ['@temporalio/workflow', '@temporalio/common'] },
  ports: { layers: ['core'], packages: [] },
  // The spec as people write it: its schema and what it becomes. Checked by the first activity and by the CLI.
  spec: { layers: ['core'], packages: ['ms', 'zod'] },
  activities: {
    layers: ['core', 'api', 'ports', 'spec'],
    packages: ['@temporalio/activity', '@temporalio/common'],
  },
  providers: { layers: ['core', 'ports'], packages: null },
  simulation: { layers: ['core'], packages: null },
  client: { layers: ['core', 'api', 'spec'], packages: null },
  cli: { layers: ['core', 'api', 'spec', 'client'], packages: null },
  worker: {
    layers: ['core', 'api', 'workflows', 'ports', 'activities', 'providers', 'simulation', 'client'],
    packages: null,
  },
}

/** Packages that belong to one provider: a second one that needs them is a sign of a port too thin. */
const PROVIDER_PACKAGES = {
  '@kubernetes/client-node': 'kubernetes',
  '@azure/': 'azure-[a-z]+',
  '@temporalio/': 'temporal',
  ssh2: 'ssh',
}

const quote = (name) => name.replace(/[/.]/g, '\\$&')
const inPackage = (name) => `(^|/)node_modules/(@types/)?${quote(name)}${name.endsWith('/') ? '' : '/'}`
// Packages and parts of Node; an import that could not be resolved as well.
const OUTSIDE_SRC = '^(?!src/)'
const CLI_WORKER = '^src/cli/worker\\.ts$'

const layerRules = Object.entries(LAYERS).flatMap(([layer, { layers, packages }]) => {
  const folders = `^src/(${[layer, ...layers].join('|')})/`
  const from = { path: `^src/${layer}/` }
  const ours = {
    name: `${layer}-layers`,
    comment: `src/${layer} may import ${layers.length > 0 ? `src/${layers.join(', src/')}` : 'no other folder of src'}.`,
    severity: 'error',
    from: layer === 'cli' ? { ...from, pathNot: CLI_WORKER } : from,
    to: { path: '^src/', pathNot: folders },
  }
  if (packages === null) return [ours]
  const foreign = {
    name: `${layer}-packages`,
    comment: `src/${layer} may import ${packages.length > 0 ? packages.join(', ') : 'no package and no part of Node'}, not even their types.`,
    severity: 'error',
    from,
    to: { path: OUTSIDE_SRC, pathNot: packages.map(inPackage) },
  }
  return [ours, foreign]
})

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'cli-worker',
      comment: 'Only src/cli/worker.ts starts a worker, and it reaches no further than src/worker.',
      severity: 'error',
      from: { path: CLI_WORKER },
      to: { path: '^src/', pathNot: `^src/(${['cli', 'worker', ...LAYERS.cli.layers].join('|')})/` },
    },
    {
      name: 'providers-apart',
      comment: 'A provider knows no other provider: what they share is a port or a second copy of ten lines.',
      severity: 'error',
      from: { path: '^src/providers/([^/]+)/' },
      to: { path: '^src/providers/', pathNot: '^src/providers/$1/' },
    },
    {
      name: 'providers-no-index',
      comment: 'Providers are chosen by name in src/worker; nothing beside their folders knows them.',
      severity: 'error',
      from: { path: '^src/providers/[^/]+$' },
      to: { path: '^src/providers/[^/]+/' },
    },
    ...Object.entries(PROVIDER_PACKAGES).map(([name, provider]) => ({
      name: `provider-package-${name.replace(/\W+/g, '-')}`,
      comment: `Of the providers only ${provider} talks through ${name}.`,
      severity: 'error',
      from: { path: '^src/providers/', pathNot: `^src/providers/${provider}/` },
      to: { path: inPackage(name) },
    })),
    {
      name: 'known-folders',
      comment: 'A new folder in src needs a row in the table above.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(${Object.keys(LAYERS).join('|')})/` },
      to: {},
    },
    {
      name: 'src-alone',
      comment: 'What is shipped imports nothing of the tests, benches and scripts.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts|deploy|docs)/' },
    },
    {
      name: 'no-dev-packages',
      comment: 'What is shipped runs on what is installed with it.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm'],
        pathNot: '/node_modules/@types/',
      },
    },
    {
      name: 'no-cycles',
      comment: 'Two files that import each other are one concept, or a third one is missing.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file of src that nobody imports and that imports nobody is dead.',
      severity: 'error',
      from: { orphan: true, path: '^src/' },
      to: {},
    },
    {
      name: 'resolvable',
      comment: 'Every import leads somewhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|test/fixtures)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Type imports count as well: one of them is enough to tie a layer to a library.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
      extensions: ['.ts', '.mts', '.mjs', '.js', '.d.ts', '.d.mts', '.json'],
    },
  },
}
