/** The same object with some methods replaced; the others keep their own `this`. */
export function withOther<T extends object>(target: T, other: Partial<T>): T {
  return new Proxy(target, {
    get(_target, name) {
      if (Object.hasOwn(other, name)) return Reflect.get(other, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
