//! The parameters of `#[task(...)]` as they are written: known ones, each at most once.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, Meta, Result, Token};

use crate::errors::Errors;

/// Each parameter, and what is said when it has another form.
const KNOWN: &[(&str, &str)] = &[
    ("kind", r#"kind takes a string: kind = "mail.welcome""#),
    (
        "delivery",
        "delivery takes one of three words: at_least_once (run again after a lost worker), \
         not_after_loss (retry failures, never run again after a lost worker) or at_most_once \
         (one run, never a second)",
    ),
    ("queue", r#"queue takes a string: queue = "mail""#),
    ("priority", "priority takes a whole number from 0 to 9: priority = 6"),
    ("max_retries", "max_retries takes a whole number up to 4294967295: max_retries = 8"),
    ("max_rescues", "max_rescues takes a whole number from 1 to 4294967295: max_rescues = 5"),
    ("timeout", r#"timeout takes a whole number with a unit, ms, s, m or h: timeout = "30s""#),
    ("accept_loss", "accept_loss takes no value"),
    ("crate", "crate takes a path without quotes: crate = leasehold_core"),
];

/// The parameters of a type, and all that is wrong with them.
#[derive(Default)]
pub(crate) struct Parameters {
    pub(crate) errors: Errors,
    /// Whether each attribute was a list, so that what is missing here was not written.
    pub(crate) is_whole: bool,
    known: Vec<Parameter>,
}

impl Parameters {
    pub(crate) fn read<'a>(attributes: impl Iterator<Item = &'a Attribute>) -> Self {
        let mut parameters = Self { is_whole: true, ..Self::default() };
        for attribute in attributes {
            match parameters.errors.keep(list(attribute)) {
                Some(list) => list.into_iter().for_each(|one| parameters.add(one)),
                None => parameters.is_whole = false,
            }
        }
        parameters
    }

    fn add(&mut self, parameter: Parameter) {
        let Parameter { name, .. } = &parameter;
        if KNOWN.iter().all(|(known, _)| name != known) {
            let text = format!("unknown parameter {name}: known are {}", names());
            self.errors.add(Error::new(name.span(), text));
        } else if self.has(&name.to_string()) {
            self.errors.add(Error::new(name.span(), format!("{name} is given twice")));
        } else {
            self.known.push(parameter);
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.known.iter().any(|parameter| parameter.name == name)
    }

    /// The value of a parameter; nothing where it was not given, or is wrong.
    pub(crate) fn take<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Parameter) -> Result<T>,
    ) -> Option<T> {
        let at = self.known.iter().position(|parameter| parameter.name == name)?;
        self.errors.keep(read(&self.known.remove(at)))
    }

    /// Removes a parameter that has no place beside another, and says why.
    pub(crate) fn refuse(&mut self, name: &str, why: &str) {
        let _: Option<()> = self.take(name, |parameter| Err(parameter.error(why)));
    }
}

fn list(attribute: &Attribute) -> Result<Punctuated<Parameter, Token![,]>> {
    match &attribute.meta {
        Meta::Path(_) => Ok(Punctuated::new()),
        Meta::List(list) => list.parse_args_with(Punctuated::parse_terminated),
        Meta::NameValue(_) => {
            Err(Error::new_spanned(attribute, "parameters stand in parentheses: #[task(...)]"))
        }
    }
}

fn names() -> String {
    KNOWN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// A name, and what stands between it and the next comma.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    rest: TokenStream,
}

impl Parameter {
    /// The value behind the equals sign.
    pub(crate) fn value<T: Parse>(&self) -> Result<T> {
        self.value_by(T::parse)
    }

    pub(crate) fn value_by<T>(&self, parse: fn(ParseStream<'_>) -> Result<T>) -> Result<T> {
        let value = |input: ParseStream<'_>| {
            input.parse::<Token![=]>()?;
            parse(input)
        };
        value.parse2(self.rest.clone()).map_err(|_| self.wrong_form())
    }

    /// That there is no value.
    pub(crate) fn flag(&self) -> Result<bool> {
        if self.rest.is_empty() { Ok(true) } else { Err(self.wrong_form()) }
    }

    pub(crate) fn wrong_form(&self) -> Error {
        let form = KNOWN.iter().find(|(known, _)| self.name == known);
        self.error(form.expect("only known parameters are kept").1)
    }

    pub(crate) fn error(&self, text: impl std::fmt::Display) -> Error {
        let Self { name, rest } = self;
        Error::new_spanned(quote!(#name #rest), text)
    }
}

impl Parse for Parameter {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // Any, as `crate` is a keyword.
        let name = Ident::parse_any(input)
            .map_err(|error| Error::new(error.span(), format!("a name is missing: {}", names())))?;
        let mut rest = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            rest.extend([input.parse::<TokenTree>()?]);
        }
        Ok(Self { name, rest })
    }
}
