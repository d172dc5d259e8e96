/** Makes the Filigree code of a pair a module that can be started. */
import type { BootstrapOptions } from '../../src/index.js'
import { readParts, withDecorator } from './block-parts.js'

/** A code block as an application, or as a script with a value. */
export interface OurBlock {
  /** The value of a block that is a script. */
  readonly answer?: unknown
  readonly options?: BootstrapOptions
  readonly module?: new () => object
}

/** Adds a module that lists the declarations to a block without one. */
export function toOurModule(code: string): string {
  const source = code.replace(/^(?:const app = )?await bootstrap\(AppModule\)\n/m, '')
  const parts = readParts(source)
  // Modules come after the modules that they import.
  const module = withDecorator(parts, 'Module').at(-1)
  if (module !== undefined) return `${source}\nexport { ${module} as module }\n`
  const listed = (decorator: string): string => withDecorator(parts, decorator).join(', ')
  const graphql = parts.variables.filter(({ type }) => type === 'GraphQL').map(({ name }) => name)
  const isScript = listed('Controller') === '' && graphql.length === 0 && /\banswer\b/.test(source)
  if (isScript) return source
  return `import { Module as ModuleOfBlock } from 'filigree'
${source}
@ModuleOfBlock({
  controllers: [${listed('Controller')}],
  providers: [${listed('Injectable')}],
  records: [${listed('Record')}],
  graphql: [${graphql.join(', ')}],
})
class BlockModule {}
export { BlockModule as module }
`
}
