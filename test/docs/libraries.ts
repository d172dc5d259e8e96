/** The libraries of the pages `docs/coming-from-….md`, and how a code block of each becomes a program. */
import { readParts, withDecorator } from './block-parts.js'
import { preparePrisma, prepareTsoa, prismaTables } from './prepare-theirs.js'

export interface Library {
  /** The name in the page: `express` in `coming-from-express.md`. */
  readonly page: string
  /** The name in the first line of its blocks: `// Express`. */
  readonly side: string
  /** npm packages. The first is the library itself. */
  readonly packages: readonly string[]
  /** Makes a block a program that listens on `PORT`, or prints its results as lines of JSON. */
  readonly toProgram: (code: string) => string
  /** Runs before the programs `blocks/<number>/main.ts` are compiled. */
  readonly prepare?: (folder: string, code: readonly string[]) => void
}

const port = 'Number(process.env.PORT)'

export const libraries: readonly Library[] = [
  {
    page: 'express',
    side: 'Express',
    packages: [
      ...['express@5.3.0', '@types/express@5.0.6', '@types/node@20.19.43'],
      ...['express-validator@7', 'cookie-parser@1.4.7', '@types/cookie-parser@1', 'multer@2.5.0'],
      ...['@types/multer@2', 'express-session@1.19.0', '@types/express-session@1', 'cors@2.8.6'],
      ...['@types/cors@2', 'express-rate-limit@8', 'compression@1', '@types/compression@1'],
    ],
    toProgram: (code) =>
      code.includes('.listen(')
        ? code.replace('listen(3000)', `listen(${port})`)
        : `${code}\napp.listen(${port})\n`,
  },
  {
    page: 'nestjs',
    side: 'NestJS',
    packages: [
      ...['@nestjs/core@12.5.1', '@nestjs/common@12.5.1', '@nestjs/platform-express@12.5.1'],
      ...['@nestjs/config@12.0.1', '@nestjs/throttler@6.7.1', '@nestjs/swagger@12.0.2'],
      ...['@nestjs/cache-manager@12', 'cache-manager@7', 'rxjs@7', 'class-validator@0.15.1'],
      ...['class-transformer@0.5.1', 'reflect-metadata@0.2.2', 'express@5.3.0'],
      ...['@types/express@5.0.6', '@types/multer@2', '@types/node@20.19.43'],
    ],
    toProgram: toNestProgram,
  },
  {
    page: 'typegraphql',
    side: 'TypeGraphQL',
    packages: [
      ...[
        'type-graphql@2.0.0-rc.4',
        'graphql@16.15.0',
        'graphql-scalars@1',
        'class-validator@0.15.1',
      ],
      ...['reflect-metadata@0.2.2', '@types/node@20.19.43', 'dataloader@2'],
    ],
    toProgram: toSchemaProgram,
  },
  {
    page: 'tsoa',
    side: 'tsoa',
    packages: [
      ...['tsoa@6.6.0', '@tsoa/runtime@6.6.0', 'express@4.22.1', '@types/express@4', 'multer@2'],
      ...['@types/multer@2', '@types/node@20.19.43'],
    ],
    toProgram: (code) => code,
    prepare: prepareTsoa,
  },
  {
    page: 'typeorm-and-prisma',
    side: 'TypeORM',
    // better-sqlite3 is taken from the repository, where it is compiled.
    packages: ['typeorm@1.1.1', 'reflect-metadata@0.2.2', '@types/node@20.19.43'],
    toProgram: toPrinter,
  },
  {
    page: 'typeorm-and-prisma',
    side: 'Prisma',
    packages: [
      ...['prisma@7.10.1', '@prisma/client@7.10.0', '@prisma/adapter-better-sqlite3@7.10.0'],
      '@types/node@20.19.43',
    ],
    toProgram: toPrismaProgram,
    prepare: preparePrisma,
  },
]

/** Adds a module to a block without one, and starts it with the usual pipe. */
function toNestProgram(code: string): string {
  if (code.includes('NestFactory')) return code.replace('listen(3000)', `listen(${port})`)
  const parts = readParts(code)
  const listed = (decorator: string): string => withDecorator(parts, decorator).join(', ')
  const module = withDecorator(parts, 'Module').at(-1) ?? 'BlockModule'
  return `import 'reflect-metadata'
import { NestFactory as FactoryOfBlock } from '@nestjs/core'
import { Module as ModuleOfBlock, ValidationPipe as PipeOfBlock } from '@nestjs/common'
${code}
@ModuleOfBlock({ controllers: [${listed('Controller')}], providers: [${listed('Injectable')}] })
class BlockModule {}
const appOfBlock = await FactoryOfBlock.create(${module}, { logger: false })
appOfBlock.useGlobalPipes(new PipeOfBlock({ transform: true, whitelist: true, forbidNonWhitelisted: true }))
await appOfBlock.listen(${port})
`
}

/** Runs the operations of the argument and prints one result per line. The first event of a subscription is printed last. */
function toSchemaProgram(code: string): string {
  const parts = readParts(code)
  const resolvers = withDecorator(parts, 'Resolver').join(', ')
  const schema = parts.variables.find(({ name }) => name === 'schema')
  return `import 'reflect-metadata'
import { buildSchema as buildOfBlock } from 'type-graphql'
import { graphql as runOfBlock, parse as parseOfBlock, subscribe as subscribeOfBlock } from 'graphql'
${code}
const schemaOfBlock = ${schema === undefined ? `await buildOfBlock({ resolvers: [${resolvers}] })` : 'schema'}
const contextOfBlock = () => ({ user: { id: 1, roles: ['ADMIN'] } })
const openOfBlock: (readonly [number, Promise<unknown>])[] = []
const resultsOfBlock: unknown[] = []
for (const [at, source] of (JSON.parse(process.argv[2]!) as string[]).entries())
  if (source.startsWith('subscription')) {
    const events = await subscribeOfBlock({ schema: schemaOfBlock, document: parseOfBlock(source), contextValue: contextOfBlock() })
    const iterator = (events as AsyncGenerator<unknown>)[Symbol.asyncIterator]()
    openOfBlock.push([at, iterator.next().then(({ value }) => value)])
  } else resultsOfBlock[at] = await runOfBlock({ schema: schemaOfBlock, source, contextValue: contextOfBlock() })
for (const [at, next] of openOfBlock) resultsOfBlock[at] = await next
for (const result of resultsOfBlock) console.log(JSON.stringify(result))
process.exit()
`
}

/** Prints the value that a block exports. */
function toPrinter(code: string): string {
  return `import 'reflect-metadata'
${code}
console.log(JSON.stringify(answer))
process.exit()
`
}

function toPrismaProgram(code: string): string {
  return `import { prisma as clientOfBlock } from '../prisma.js'
for (const sql of ${JSON.stringify(prismaTables)}) await clientOfBlock.$executeRawUnsafe(sql)
${code.replaceAll("'./prisma.js'", "'../prisma.js'")}
console.log(JSON.stringify(answer))
process.exit()
`
}
