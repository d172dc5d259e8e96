/** The shop of `shop.ts` with public REST routes for products and categories. */
import { Controller, Module, NoAuth } from 'filigree'
import { Category, Product, shop } from './shop.js'

@Controller('/products', { crud: Product })
@NoAuth
class Products {}
@Controller('/categories', { crud: Category })
@NoAuth
class Categories {}

@Module({ controllers: [Products, Categories], records: shop })
export class OpenShop {}
