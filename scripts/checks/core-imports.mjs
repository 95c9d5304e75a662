import { posix } from 'node:path'
import typescript from 'typescript'

export const name = 'the core imports only itself'

/**
 * Layers are checked elsewhere too; this one on its own, because a single foreign *type* import brings Node's types
 * in and switches tsconfig.core.json off without a word.
 * @param {import('./files.mjs').ProjectFile[]} files
 */
export function problems(files) {
  return files
    .filter(({ path }) => path.startsWith('src/core/'))
    .flatMap(({ path, text }) =>
      foreign(path, text).map(
        (specifier) => `${path}: imports ${specifier}; src/core imports nothing but src/core`,
      ),
    )
}

/**
 * @param {string} path
 * @param {string} text
 */
function foreign(path, text) {
  const { importedFiles, referencedFiles, typeReferenceDirectives } = typescript.preProcessFile(text)
  const imported = importedFiles
    .map(({ fileName }) => fileName)
    .filter((specifier) => !isInCore(path, specifier))
  const referenced = [...referencedFiles, ...typeReferenceDirectives].map(({ fileName }) => fileName)
  return [...imported, ...referenced]
}

/**
 * @param {string} path
 * @param {string} specifier
 */
function isInCore(path, specifier) {
  return specifier.startsWith('.') && posix.join(posix.dirname(path), specifier).startsWith('src/core/')
}
