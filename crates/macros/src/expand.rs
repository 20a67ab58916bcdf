//! The `impl Task` of a type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Path, Result};

use crate::errors::Errors;
use crate::settings::Settings;
use crate::value::Delivery;

/// The implementation for a type, or all that is wrong with its declaration.
pub(crate) fn task(input: &DeriveInput) -> Result<TokenStream> {
    let mut errors = Errors::default();
    check_type(input, &mut errors);
    let settings = errors.keep(Settings::read(input));
    errors.finish(settings).map(|settings| implement(input, &settings))
}

/// All that is wrong, and an implementation all the same: without one each use of the type
/// would be one more error, that it is no task.
pub(crate) fn refused(input: &DeriveInput, error: &Error) -> TokenStream {
    let errors = error.to_compile_error();
    let borrows = input.generics.lifetimes().next().is_some();
    // For these no implementation would compile.
    let is_hopeless = borrows || matches!(input.data, Data::Union(_));
    let settings = if is_hopeless { None } else { Settings::stand_in(input) };
    let implementation = settings.map(|settings| implement(input, &settings));
    quote!(#errors #implementation)
}

fn check_type(input: &DeriveInput, errors: &mut Errors) {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let text = "a task owns its data: no lifetime parameter";
        errors.add(Error::new_spanned(lifetime, text));
    }
    match &input.data {
        Data::Struct(data) => check_fields(&data.fields, errors),
        Data::Enum(data) => {
            for variant in &data.variants {
                check_place(&variant.attrs, errors);
                check_fields(&variant.fields, errors);
            }
        }
        Data::Union(data) => {
            errors.add(Error::new_spanned(data.union_token, "a task is a struct or an enum"));
        }
    }
}

fn check_fields(fields: &Fields, errors: &mut Errors) {
    for field in fields {
        check_place(&field.attrs, errors);
    }
}

/// The compiler takes `#[task(...)]` here as well, where it would say nothing.
fn check_place(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("task")) {
        errors.add(Error::new_spanned(attribute, "#[task(...)] stands above the type"));
    }
}

fn implement(input: &DeriveInput, settings: &Settings) -> TokenStream {
    let name = &input.ident;
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let root = &settings.crate_path;
    let kind = &settings.kind;
    let delivery = delivery(root, settings);
    let queue = settings.queue.iter();
    let priority = settings.priority.iter();
    let max_retries = settings.max_retries.iter();
    let timeout_ms = settings.timeout_ms.iter();
    let accept_loss = settings.accept_loss.iter();
    // A name of the prelude may be another thing where the type is. And a deprecated type is
    // still a task while its last ones wait.
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters #root::Task for #name #arguments #bounds {
            const KIND: &'static ::core::primitive::str = #kind;
            const DELIVERY: #root::Delivery = #delivery;
            #(const QUEUE: &'static ::core::primitive::str = #queue;)*
            #(const PRIORITY: #root::Priority = #root::Priority::new(#priority);)*
            #(const RETRY: #root::RetryPolicy = #root::RetryPolicy::at_most(#max_retries);)*
            #(const TIMEOUT: ::core::time::Duration =
                ::core::time::Duration::from_millis(#timeout_ms);)*
            #(const ACCEPT_LOSS: ::core::primitive::bool = #accept_loss;)*
        }
    }
}

fn delivery(root: &Path, settings: &Settings) -> TokenStream {
    match (settings.delivery, settings.max_rescues) {
        (Delivery::AtLeastOnce, None) => quote!(#root::Delivery::at_least_once()),
        (Delivery::AtLeastOnce, Some(max_rescues)) => {
            quote!(#root::Delivery::AtLeastOnce { max_rescues: #max_rescues })
        }
        (Delivery::NotAfterLoss, _) => quote!(#root::Delivery::NotAfterLoss),
        (Delivery::AtMostOnce, _) => quote!(#root::Delivery::AtMostOnce),
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn assert_expands(input: &DeriveInput, implementation: &TokenStream) {
        let expanded = task(input).expect("nothing is wrong with it");
        assert_eq!(expanded.to_string(), implementation.to_string());
    }

    fn errors(input: &DeriveInput) -> Vec<String> {
        let error = task(input).expect_err("something is wrong with it");
        error.into_iter().map(|error| error.to_string()).collect()
    }

    #[test]
    fn only_what_is_named_is_set() {
        assert_expands(
            &parse_quote! {
                #[task(kind = "mail.welcome", delivery = at_least_once)]
                struct Welcome { user: u64 }
            },
            &quote! {
                #[automatically_derived]
                #[allow(deprecated)]
                impl ::leasehold::Task for Welcome {
                    const KIND: &'static ::core::primitive::str = "mail.welcome";
                    const DELIVERY: ::leasehold::Delivery = ::leasehold::Delivery::at_least_once();
                }
            },
        );
    }

    #[test]
    fn each_parameter_sets_one_const() {
        assert_expands(
            &parse_quote! {
                #[task(kind = "a", delivery = not_after_loss, queue = "b", priority = 6)]
                #[task(crate = base, max_retries = 8, timeout = "30s", accept_loss)]
                enum Letter { A, B(u64) }
            },
            &quote! {
                #[automatically_derived]
                #[allow(deprecated)]
                impl base::Task for Letter {
                    const KIND: &'static ::core::primitive::str = "a";
                    const DELIVERY: base::Delivery = base::Delivery::NotAfterLoss;
                    const QUEUE: &'static ::core::primitive::str = "b";
                    const PRIORITY: base::Priority = base::Priority::new(6u8);
                    const RETRY: base::RetryPolicy = base::RetryPolicy::at_most(8u32);
                    const TIMEOUT: ::core::time::Duration =
                        ::core::time::Duration::from_millis(30000u64);
                    const ACCEPT_LOSS: ::core::primitive::bool = true;
                }
            },
        );
    }

    #[test]
    fn type_parameters_and_bounds_are_kept() {
        assert_expands(
            &parse_quote! {
                #[task(kind = "a", delivery = at_least_once, max_rescues = 5)]
                struct Batch<T: Send = u8, const N: usize = 2>(Vec<T>) where T: 'static;
            },
            &quote! {
                #[automatically_derived]
                #[allow(deprecated)]
                impl<T: Send, const N: usize> ::leasehold::Task for Batch<T, N> where T: 'static {
                    const KIND: &'static ::core::primitive::str = "a";
                    const DELIVERY: ::leasehold::Delivery =
                        ::leasehold::Delivery::AtLeastOnce { max_rescues: 5u32 };
                }
            },
        );
    }

    #[test]
    fn a_type_that_cannot_be_a_task_is_refused() {
        let borrowed = parse_quote! {
            #[task(kind = "a", delivery = at_least_once)]
            struct Borrowed<'a, 'b> { text: &'a str, more: &'b str }
        };
        assert_eq!(errors(&borrowed), ["a task owns its data: no lifetime parameter"]);
        let union = parse_quote! {
            #[task(kind = "a", delivery = at_least_once)]
            union Both { a: u8, b: u16 }
        };
        assert_eq!(errors(&union), ["a task is a struct or an enum"]);
    }

    #[test]
    fn an_attribute_inside_the_type_is_refused_and_not_passed_over() {
        let field = parse_quote! {
            #[task(kind = "a", delivery = at_least_once)]
            struct Mail { #[task(priority = 1)] user: u64 }
        };
        assert_eq!(errors(&field), ["#[task(...)] stands above the type"]);
        let variant = parse_quote! {
            #[task(kind = "a", delivery = at_least_once)]
            enum Mail { #[task(kind = "b")] Welcome(#[task] u64) }
        };
        assert_eq!(errors(&variant), ["#[task(...)] stands above the type"; 2]);
    }

    #[test]
    fn what_is_wrong_with_type_and_attributes_is_told_at_once() {
        let input = parse_quote! {
            #[task(kind = "", delivery = at_least_once)]
            struct Borrowed<'a>(&'a str);
        };
        assert_eq!(
            errors(&input),
            ["a task owns its data: no lifetime parameter", "kind is empty"]
        );
    }

    /// What stands behind the errors of a type that is refused.
    fn behind_the_errors(input: &DeriveInput) -> String {
        let error = task(input).expect_err("something is wrong with it");
        let refused = refused(input, &error).to_string();
        let errors = error.to_compile_error().to_string();
        let behind = refused.strip_prefix(&errors).expect("the errors come first");
        behind.trim_start().to_owned()
    }

    #[test]
    fn a_type_with_a_wrong_attribute_is_a_task_all_the_same() {
        let input = parse_quote! {
            #[task(crate = base, delivery = "never")]
            struct Batch<T: Send>(Vec<T>);
        };
        let implementation = quote! {
            #[automatically_derived]
            #[allow(deprecated)]
            impl<T: Send> base::Task for Batch<T> {
                const KIND: &'static ::core::primitive::str = "";
                const DELIVERY: base::Delivery = base::Delivery::AtMostOnce;
            }
        };
        assert_eq!(behind_the_errors(&input), implementation.to_string());
        let bare = behind_the_errors(&parse_quote!(
            struct Bare;
        ));
        assert!(bare.contains("impl :: leasehold :: Task for Bare"), "{bare}");
    }

    #[test]
    fn an_implementation_that_would_not_compile_is_left_out() {
        let borrows = parse_quote!(
            struct Borrows<'a>(&'a str);
        );
        let union = parse_quote!(union Both { a: u8, b: u16 });
        let unknown_crate = parse_quote!(
            #[task(crate = "base")]
            struct Mail;
        );
        for input in [borrows, union, unknown_crate] {
            assert_eq!(behind_the_errors(&input), "");
        }
    }
}
