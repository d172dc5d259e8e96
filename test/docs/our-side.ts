/** Our side of a pair: its block as a module that can be started. */
import type { BootstrapOptions } from '../../src/index.js'
import { readParts, withDecorator } from './block-parts.js'

/** What a block of ours becomes. */
export interface OurBlock {
  /** The value of a block that is a script. */
  readonly answer?: unknown
  readonly options?: BootstrapOptions
  readonly module?: new () => object
}

/** A block without a module is put into one that lists what it declares. */
export function toOurModule(code: string): string {
  const own = code.replace(/^(?:const app = )?await bootstrap\(AppModule\)\n/m, '')
  const parts = readParts(own)
  // What imports the others stands behind them.
  const module = withDecorator(parts, 'Module').at(-1)
  if (module !== undefined) return `${own}\nexport { ${module} as module }\n`
  const listed = (decorator: string): string => withDecorator(parts, decorator).join(', ')
  const graphql = parts.variables.filter(({ made }) => made === 'GraphQL').map(({ name }) => name)
  const isScript = listed('Controller') === '' && graphql.length === 0 && /\banswer\b/.test(own)
  if (isScript) return own
  return `import { Module as ModuleOfBlock } from 'filigree'
${own}
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
