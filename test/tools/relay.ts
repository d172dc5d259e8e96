/** Compiles code of Relay applications — `@refetchable` on nodes and on pages — with Relay's own compiler. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BelongsTo, Field, GraphQL, HasMany, Record, type Rel } from '../../src/index.js'
import { cache, installTool, runTool } from './install.js'

@Record
class Category {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Product) products!: Rel<Product[]>
}

@Record
class Product {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('numeric') price!: number
  @Field('integer') categoryId!: number
  @BelongsTo(() => Category) category!: Rel<Category>
}

const sources: Readonly<globalThis.Record<string, string>> = {
  'ProductCard.js': `graphql\`
    fragment ProductCard_product on Product @refetchable(queryName: "ProductCardRefetchQuery") {
      name price category { id name } } \``,
  'ProductList.js': `graphql\`
    fragment ProductList_query on Query
      @argumentDefinitions(count: { type: "Int", defaultValue: 10 }, cursor: { type: "String" })
      @refetchable(queryName: "ProductListPaginationQuery") {
      productsPage(first: $count, after: $cursor) @connection(key: "ProductList_productsPage") {
        edges { node { id ...ProductCard_product } } } } \``,
  'LastProducts.js': `graphql\`
    fragment LastProducts_query on Query
      @argumentDefinitions(count: { type: "Int", defaultValue: 5 }, cursor: { type: "String" })
      @refetchable(queryName: "LastProductsPaginationQuery") {
      last: productsPage(last: $count, before: $cursor) @connection(key: "LastProducts_last") {
        edges { node { name } } } } \``,
  'Page.js': `graphql\`
    query PageQuery($id: ID!, $ids: [ID!]!) {
      ...ProductList_query ...LastProducts_query
      node(id: $id) { id ...ProductCard_product @alias(as: "product") }
      nodes(ids: $ids) { id ... on Category { name } } } \``,
  'Change.js': `graphql\`
    mutation ChangeMutation($id: ID!, $input: ProductInput!) {
      updateProduct(id: $id, input: $input) { ...ProductCard_product } } \``,
}

export function relay(): string {
  const { folder, version } = installTool('relay', ['relay-compiler@21.0.1'])
  const project = join(cache, 'relay-project')
  rmSync(project, { recursive: true, force: true })
  mkdirSync(join(project, 'src'), { recursive: true })
  const graphql = new GraphQL({ relay: true })
  graphql.schema.fromOrm(Category)
  writeFileSync(join(project, 'schema.graphql'), graphql.sdl)
  for (const [name, source] of Object.entries(sources))
    writeFileSync(join(project, 'src', name), `import { graphql } from 'react-relay'\n${source}\n`)
  const excludes = ['**/__generated__/**']
  const config = { src: './src', schema: './schema.graphql', language: 'javascript', excludes }
  writeFileSync(join(project, 'relay.config.json'), JSON.stringify(config))
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  runTool(process.execPath, [join(folder, 'node_modules/relay-compiler/cli.js')], project)
  const generated = readdirSync(join(project, 'src/__generated__'))
  for (const name of ['ProductCardRefetchQuery', 'ProductListPaginationQuery'])
    if (!generated.some((file) => file.startsWith(name))) throw new Error(`${name} was not made.`)
  return `relay-compiler ${version}: ${generated.length} files made, @refetchable of a node and of pages`
}
